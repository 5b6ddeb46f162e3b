# c-ares, for names (docs/names.md). Its header alone is needed: the library itself is loaded at run time, where it is.
if((WEFT_CARES STREQUAL "AUTO" AND NOT CMAKE_CROSSCOMPILING) OR (WEFT_CARES AND NOT WEFT_CARES STREQUAL "AUTO"))
    file(GLOB cares_header CONFIGURE_DEPENDS /usr/include/ares.h /usr/local/include/ares.h) # it may come later: then this is read again
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(cares QUIET libcares>=1.16)
    endif()
    if(cares_FOUND)
        target_compile_definitions(weft_real INTERFACE WEFT_CARES=1)
        target_include_directories(weft_real SYSTEM INTERFACE ${cares_INCLUDE_DIRS})
    elseif(NOT WEFT_CARES STREQUAL "AUTO")
        message(FATAL_ERROR "WEFT_CARES is ${WEFT_CARES}, but pkg-config finds no libcares 1.16 or newer")
    endif()
endif()

# The library, static and shared. Files are found by room; a new file in a known room needs no edit here.
file(GLOB library_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.c ${PROJECT_SOURCE_DIR}/src/*/*.S)

# Sources that are compiled into a library by its own flags: static code need not be position independent as shared code.
function(weft_library target)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weft_flags> $<BUILD_INTERFACE:weft_real>)
    target_link_libraries(${target} PUBLIC Threads::Threads)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # For programs: a function with large local arrays touches each page of them, so it cannot jump over the guard below a process's stack.
    target_compile_options(${target} INTERFACE $<INSTALL_INTERFACE:-fstack-clash-protection>)
    # All of it in one unit for real use, so that small files cost nothing at run time. With sanitizers in several, so that headers are read once for many files.
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden OUTPUT_NAME weft
                          UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE ${WEFT_UNITY_FILES})
endfunction()

add_library(weft_static STATIC ${library_sources})
weft_library(weft_static)
set_target_properties(weft_static PROPERTIES EXPORT_NAME static)
# Its code in a section of its own, wherever it is linked to: so that a fault inside of weft can be told from one in the program
# (src/fiber/own_code.c), and no process is stopped there (src/preempt/preempt.c). The linker makes __start_weft_text and __stop_weft_text from the name.
function(weft_own_section target)
    add_custom_command(TARGET ${target} POST_BUILD
                       COMMAND ${CMAKE_COMMAND} -D OBJDUMP=${CMAKE_OBJDUMP} -D OBJCOPY=${CMAKE_OBJCOPY} -D LIBRARY=$<TARGET_FILE:${target}>
                               -D SECTION=weft_text -P ${PROJECT_SOURCE_DIR}/cmake/own_section.cmake VERBATIM)
endfunction()
weft_own_section(weft_static)
add_library(weft::static ALIAS weft_static)

if(WEFT_SHARED)
    add_library(weft_shared SHARED ${library_sources})
    weft_library(weft_shared)
    set(map ${PROJECT_SOURCE_DIR}/src/weft.map)
    target_link_options(weft_shared PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined -Wl,-z,relro,-z,now)
    set_target_properties(weft_shared PROPERTIES EXPORT_NAME shared VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
    add_library(weft::shared ALIAS weft_shared)
endif()

# For projects that take weft in with add_subdirectory or FetchContent: the name that the installed package gives it.
if(WEFT_SHARED)
    add_library(weft::weft ALIAS weft_shared)
else()
    add_library(weft::weft ALIAS weft_static)
endif()

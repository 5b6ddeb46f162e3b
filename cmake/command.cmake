# The `weft` command: its own files and every benchmark, which registers itself.
file(GLOB command_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c ${PROJECT_SOURCE_DIR}/bench/*.c)
add_executable(weft ${command_sources})
target_include_directories(weft PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/bench)
target_link_libraries(weft PRIVATE weft_real weft_static)
# Where `weft check` finds the checker, its library and its headers once installed, seen from the command's own directory.
file(RELATIVE_PATH libexec /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBEXECDIR}/weft)
# Where `weft sim` finds the shared library that simulates, likewise.
file(RELATIVE_PATH sim_folder /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR}/weft/sim)
file(RELATIVE_PATH lib /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH headers /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_INCLUDEDIR})
target_compile_definitions(weft PRIVATE WEFT_LIBEXEC="${libexec}" WEFT_LIB="${lib}" WEFT_HEADERS="${headers}"
                           WEFT_SIM_FOLDER="${sim_folder}")
install(TARGETS weft DESTINATION ${CMAKE_INSTALL_BINDIR})

# Others that are measured beside weft, where they are found: bench/peers/NAME_LIBRARY.c, put where the command looks for them.
if(NOT CMAKE_CROSSCOMPILING AND NOT WEFT_SANITIZE)
    file(GLOB uv_header CONFIGURE_DEPENDS /usr/include/uv.h /usr/local/include/uv.h) # it may come later: then this is read again
    find_library(WEFT_UV uv)
    find_path(WEFT_UV_INCLUDE uv.h)
    if(WEFT_UV AND WEFT_UV_INCLUDE)
        add_executable(peer.http_uv ${PROJECT_SOURCE_DIR}/bench/peers/http_uv.c)
        target_include_directories(peer.http_uv PRIVATE ${WEFT_UV_INCLUDE})
        target_link_libraries(peer.http_uv PRIVATE weft_flags ${WEFT_UV})
        set_target_properties(peer.http_uv PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/peers OUTPUT_NAME http_uv)
        add_dependencies(weft peer.http_uv)
    endif()
endif()

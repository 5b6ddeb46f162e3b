# The `weft` command: its own files and every benchmark, which registers itself.
file(GLOB command_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c ${PROJECT_SOURCE_DIR}/bench/*.c)
add_executable(weft ${command_sources})
target_include_directories(weft PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/bench)
target_link_libraries(weft PRIVATE weft_real weft_static)
# Where `weft check` finds the checker once installed, seen from the command's own directory.
file(RELATIVE_PATH libexec /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBEXECDIR}/weft)
target_compile_definitions(weft PRIVATE WEFT_LIBEXEC="${libexec}")
install(TARGETS weft DESTINATION ${CMAKE_INSTALL_BINDIR})

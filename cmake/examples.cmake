# The programs of examples/savina, compiled as a user's are: with the public headers alone. tests/examples/test_savina runs them. (The
# other examples are compiled by tests/examples/run.)
file(GLOB savina_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/savina/*.c)
foreach(source ${savina_sources})
    cmake_path(GET source STEM name)
    add_executable(savina.${name} ${source})
    target_link_libraries(savina.${name} PRIVATE weft_static)
    target_compile_options(savina.${name} PRIVATE $<TARGET_PROPERTY:weft_flags,INTERFACE_COMPILE_OPTIONS>
                           $<TARGET_PROPERTY:weft_real,INTERFACE_COMPILE_OPTIONS>)
    target_link_options(savina.${name} PRIVATE $<TARGET_PROPERTY:weft_real,INTERFACE_LINK_OPTIONS>)
    set_target_properties(savina.${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples/savina
                          OUTPUT_NAME ${name})
    if(TARGET examples.test_savina)
        add_dependencies(examples.test_savina savina.${name})
    endif()
endforeach()

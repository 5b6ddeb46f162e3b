# libweft-sim: the library's own sources, compiled so that the simulation decides which thread runs, and the simulation itself.
file(GLOB sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/*.c ${PROJECT_SOURCE_DIR}/sim/world/*.c)
set_source_files_properties(${sim_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

function(weft_sim_library target)
    weft_library(${target})
    target_compile_definitions(${target} PRIVATE WEFT_SIM=1)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/sim)
endfunction()

add_library(weft_sim STATIC ${library_sources} ${sim_sources})
weft_sim_library(weft_sim)
set_target_properties(weft_sim PROPERTIES OUTPUT_NAME weft-sim EXPORT_NAME sim)
weft_own_section(weft_sim)
add_library(weft::sim ALIAS weft_sim)

# With the same name as the shared library, in a directory of its own: `weft sim` puts it in the place of that one.
if(WEFT_SHARED)
    add_library(weft_sim_shared SHARED ${library_sources} ${sim_sources})
    weft_sim_library(weft_sim_shared)
    target_link_options(weft_sim_shared PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined -Wl,-z,relro,-z,now)
    set_target_properties(weft_sim_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map}
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim)
endif()

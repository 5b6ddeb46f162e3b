# libweft-sim: the library's own sources, compiled so that the simulation decides which thread runs, and the simulation itself.
file(GLOB sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/*.c ${PROJECT_SOURCE_DIR}/sim/world/*.c)
set_source_files_properties(${sim_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# Compiled once for both, static and shared: what makes shared code slower matters little where a scheduler decides at every step. Its debug information
# names lines and types; where variables are at each instruction would take a third of the time.
add_library(weft_sim_objects OBJECT ${library_sources} ${sim_sources})
weft_library(weft_sim_objects)
target_compile_definitions(weft_sim_objects PRIVATE WEFT_SIM=1)
target_compile_options(weft_sim_objects PRIVATE $<$<C_COMPILER_ID:GNU>:-fno-var-tracking>)
target_include_directories(weft_sim_objects PRIVATE ${PROJECT_SOURCE_DIR}/sim)
set_target_properties(weft_sim_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

function(weft_sim_library target)
    weft_library(${target})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:weft_sim_objects>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()

add_library(weft_sim STATIC)
weft_sim_library(weft_sim)
set_target_properties(weft_sim PROPERTIES OUTPUT_NAME weft-sim EXPORT_NAME sim)
weft_own_section(weft_sim)
add_library(weft::sim ALIAS weft_sim)

# With the same name as the shared library, in a directory of its own: `weft sim` puts it in the place of that one.
# The functions of the C library that the simulation has too (sim/real.h) are exported without a version: so a program's calls find them, whichever
# version of them it was linked with.
if(WEFT_SHARED)
    file(READ ${map} names)
    string(REGEX REPLACE "local:[^}]*" "" names "${names}")
    set(map ${PROJECT_BINARY_DIR}/sim.map)
    file(WRITE ${map} "${names}")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/sim/pthreads.c ${PROJECT_SOURCE_DIR}/sim/clock.c
                                ${PROJECT_SOURCE_DIR}/sim/world/libc.c PROPERTIES COMPILE_OPTIONS -fvisibility=default)
    add_library(weft_sim_shared SHARED)
    weft_sim_library(weft_sim_shared)
    target_link_options(weft_sim_shared PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined -Wl,-z,relro,-z,now)
    set_target_properties(weft_sim_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map}
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim)
endif()

# Installed beside the library; the shared one in a folder of its own.
install(TARGETS weft_sim EXPORT weft_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(WEFT_SHARED)
    install(TARGETS weft_sim_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft/sim)
endif()
weft_pkgconfig(weft-sim Unspecified)

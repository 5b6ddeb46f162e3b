# One program for every tests/<room>/test_*.c.
file(GLOB test_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*.c)
add_library(weft_test OBJECT ${test_support})
target_link_libraries(weft_test PRIVATE weft_real)
target_include_directories(weft_test PUBLIC ${PROJECT_SOURCE_DIR}/tests)

# Tests in C++ (test_*.cpp) where there is a compiler for it; a cross compiler has to be named.
if(NOT CMAKE_CROSSCOMPILING)
    include(CheckLanguage)
    check_language(CXX)
endif()
set(test_suffixes c)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(CMAKE_CXX_STANDARD 17) # of weft.hpp; clang's own is older
    set(test_suffixes c cpp)
endif()

# The sanitizers' libraries are large: gold, where there is one, links a program with them in half the time.
set(test_linker "")
if(WEFT_SANITIZE)
    find_program(WEFT_GOLD ld.gold)
    if(WEFT_GOLD)
        set(test_linker -fuse-ld=gold)
    endif()
endif()

set(rooms ${WEFT_TEST_ROOMS})
foreach(room ${rooms})
    set(sources "")
    foreach(suffix ${test_suffixes})
        file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/test_*.${suffix})
        list(APPEND sources ${found})
    endforeach()
    foreach(source ${sources})
        cmake_path(GET source PARENT_PATH directory)
        cmake_path(GET directory FILENAME room_name)
        cmake_path(GET source STEM name)
        if(room_name STREQUAL "sim" AND NOT TARGET weft_sim)
            continue()
        endif()
        add_executable(${room_name}.${name} ${source})
        if(room_name STREQUAL "sim") # in the simulation: the simulated library instead of the real one
            target_link_libraries(${room_name}.${name} PRIVATE weft_real weft_test weft_sim)
            target_include_directories(${room_name}.${name} PRIVATE ${PROJECT_SOURCE_DIR}/sim)
            target_compile_definitions(${room_name}.${name} PRIVATE WEFT_TEST_SIM=1)
        else()
            target_link_libraries(${room_name}.${name} PRIVATE weft_real weft_test weft_static)
            target_compile_definitions(${room_name}.${name} PRIVATE WEFT_TEST_SIM=0)
        endif()
        target_include_directories(${room_name}.${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
        target_link_options(${room_name}.${name} PRIVATE ${test_linker})
        set_target_properties(${room_name}.${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${room_name}
                              OUTPUT_NAME ${name})
        if(name MATCHES "_o3$") # what an optimiser may not do is asked of the highest level too
            target_compile_options(${room_name}.${name} PRIVATE -O3)
        elseif(NOT name MATCHES "^test_(errno|migrate)") # and of the library's level
            target_compile_options(${room_name}.${name} PRIVATE ${WEFT_TEST_FLAGS})
        endif()
        if(name MATCHES "_codes$") # weft.hpp, whose errors are codes then
            target_compile_options(${room_name}.${name} PRIVATE -fno-exceptions)
        endif()
        if(name MATCHES "_work$") # counts the branches it takes instead of measuring time
            target_compile_options(${room_name}.${name} PRIVATE -fsanitize-coverage=trace-pc)
        endif()
    endforeach()
endforeach()

# Programs that the tests of `weft sim` run: one with the simulating library, and one that is made for the shared library as ever.
if(TARGET weft_sim)
    foreach(kind sim shared)
        if(TARGET weft_${kind})
            add_executable(sim.subject_${kind} ${PROJECT_SOURCE_DIR}/tests/sim/subject.c)
            target_link_libraries(sim.subject_${kind} PRIVATE weft_real weft_${kind})
            set_target_properties(sim.subject_${kind} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim OUTPUT_NAME subject_${kind})
        endif()
    endforeach()
endif()

# Links, monitors and names as scenarios, which tests/erlang/run compares with what Erlang does.
add_executable(erlang.actors ${PROJECT_SOURCE_DIR}/tests/erlang/actors.c)
target_link_libraries(erlang.actors PRIVATE weft_flags weft_static)
set_target_properties(erlang.actors PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/erlang OUTPUT_NAME actors)

# Instructions of the hot paths, which tools/counts compares with its table: stepped through by ptrace, on x86-64.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT WEFT_SANITIZE)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/counts/*.c)
    add_executable(counts.counts ${sources})
    target_link_libraries(counts.counts PRIVATE weft_real weft_static)
    set_target_properties(counts.counts PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/counts OUTPUT_NAME counts)
endif()

# Flags for everything we compile. Switches are always defined, as 0 or 1, and tested with #if under -Wundef.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wundef $<$<BOOL:${WEFT_WERROR}>:-Werror>)
# Empty, as a file's own `#define _GNU_SOURCE` is: in a unity build the first include decides for all files.
target_compile_definitions(weft_flags INTERFACE _GNU_SOURCE=)
target_include_directories(weft_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# What is compiled for real use, as opposed to for the model checker.
add_library(weft_real INTERFACE)
target_compile_definitions(weft_real INTERFACE WEFT_CHECK=0 $<$<BOOL:${WEFT_DEBUG}>:WEFT_DEBUG=1>)
target_link_libraries(weft_real INTERFACE weft_flags Threads::Threads)
if(WEFT_SANITIZE)
    target_compile_options(weft_real INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(weft_real INTERFACE -fsanitize=${WEFT_SANITIZE})
    if(WEFT_SANITIZE MATCHES "undefined")
        target_compile_options(weft_real INTERFACE -fno-sanitize-recover=undefined)
    endif()
endif()

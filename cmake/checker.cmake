# weft-check: the model checker's engine, the scenarios, and the real source files of the proved parts.
#
# The parts and scenarios are compiled with the race detector's instrumentation, which turns every memory access into a
# call; the engine supplies those functions, so the race detector's own library is not linked. The compiler leaves memcpy and
# its like to that library, so they are called by other names here (weft/chk_names.h), which the engine supplies too.
file(GLOB engine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/check/engine/*.c ${PROJECT_SOURCE_DIR}/check/engine/*.S)
file(GLOB scenario_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/check/scenarios/*.c
     ${PROJECT_SOURCE_DIR}/check/litmus/*.c ${PROJECT_SOURCE_DIR}/check/flaws/*.c)
# Whole rooms, without what needs a kernel, threads or stacks.
set(proved_globs "")
foreach(room base queue time mem proc sched thread life step sync registry select)
    list(APPEND proved_globs ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
endforeach()
file(GLOB proved_sources CONFIGURE_DEPENDS ${proved_globs})
# Threads that are not workers, for scenarios: check/scenarios/small_runtime.c. Stacks and switches: check/scenarios/small_fiber.c.
list(FILTER proved_sources EXCLUDE REGEX "/src/(sched/(netpoll_kernel|door)|thread/(thread|sysmon|maker)|registry/send_name)\\.c$")
# Of other rooms, parts.
foreach(part sys/print sys/setting fiber/errno wait/wait mail/send mail/bounds mail/bounds_spare mail/send_bounded mail/circle mail/mailbox mail/ask mail/demonitor mail/search mail/send_after mail/lane command/command command/yield command/sleep_command forkjoin/region net/readiness
             runtime/start runtime/stop runtime/stats runtime/report)
    list(APPEND proved_sources ${PROJECT_SOURCE_DIR}/src/${part}.c)
endforeach()

if(NOT EXISTS ${PROJECT_SOURCE_DIR}/check/engine/main.c)
    message(STATUS "No check/engine/main.c: the model checker is left out")
    return()
endif()

function(check_flags target)
    target_compile_definitions(${target} PRIVATE WEFT_CHECK=1)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/check)
    target_link_libraries(${target} PRIVATE weft_flags)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

add_library(check_engine OBJECT ${engine_sources})
check_flags(check_engine)
target_compile_options(check_engine PRIVATE -O2 -g -fno-pie)

add_executable(weft-check $<TARGET_OBJECTS:check_engine>)
set(statics ${PROJECT_SOURCE_DIR}/check/engine/statics.ld)
target_link_options(weft-check PRIVATE -no-pie LINKER:-T,${statics})
set_target_properties(weft-check PROPERTIES LINK_DEPENDS ${statics})
target_link_libraries(weft-check PRIVATE Threads::Threads)

if(scenario_sources OR proved_sources)
    add_library(check_subjects OBJECT ${scenario_sources} ${proved_sources})
    check_flags(check_subjects)
    target_compile_options(check_subjects PRIVATE -O1 -g -fno-pie -fsanitize=thread "SHELL:-include weft/chk_names.h")
    target_sources(weft-check PRIVATE $<TARGET_OBJECTS:check_subjects>)
endif()

# The engine for a user's own files (`weft check FILE.c`): one object, which gives away no name but those that such files call.
set(engine_library ${PROJECT_BINARY_DIR}/libweft-check.a)
set(engine_object ${PROJECT_BINARY_DIR}/weft-check-engine.o)
add_custom_command(OUTPUT ${engine_library}
                   COMMAND ${CMAKE_LINKER} -r -o ${engine_object} $<TARGET_OBJECTS:check_engine>
                   COMMAND ${CMAKE_OBJCOPY} --strip-debug --wildcard --keep-global-symbol=main --keep-global-symbol=chk_* --keep-global-symbol=__tsan_* --keep-global-symbol=__atomic_*
                           ${engine_object}
                   COMMAND ${CMAKE_COMMAND} -E rm -f ${engine_library}
                   COMMAND ${CMAKE_AR} rcs ${engine_library} ${engine_object}
                   DEPENDS $<TARGET_OBJECTS:check_engine> COMMAND_EXPAND_LISTS VERBATIM)
configure_file(${statics} ${PROJECT_BINARY_DIR}/weft-check.ld COPYONLY)
add_custom_target(weft-check-library ALL DEPENDS ${engine_library})
include(cmake/pkgconfig.cmake)
weft_pkgconfig(weft-check checker)
install(FILES ${engine_library} ${PROJECT_BINARY_DIR}/weft-check.ld DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT checker)
install(FILES ${PROJECT_SOURCE_DIR}/include/weft/chk.h ${PROJECT_SOURCE_DIR}/include/weft/chk_names.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT checker)
install(TARGETS weft-check DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/weft COMPONENT checker)

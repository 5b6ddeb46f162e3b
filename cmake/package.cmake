# What an outside program needs to find weft: headers, pkg-config file, CMake package.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set(libraries weft_static)
if(WEFT_SHARED)
    list(APPEND libraries weft_shared)
endif()
install(TARGETS ${libraries} EXPORT weft_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT weft_targets NAMESPACE weft:: FILE weftTargets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
        DESTINATION ${package_dir})

include(cmake/pkgconfig.cmake)
weft_pkgconfig(weft Unspecified)

# A build that checks is installed beside the release library, under a name of its own: cmake --install build/asan --component checking
if(WEFT_SANITIZE MATCHES "address")
    set(checking asan)
elseif(WEFT_SANITIZE MATCHES "thread")
    set(checking tsan)
elseif(WEFT_DEBUG)
    set(checking debug)
endif()
if(checking)
    if(WEFT_SANITIZE)
        set(checking_flags -fsanitize=${WEFT_SANITIZE})
    endif()
    install(FILES $<TARGET_FILE:weft_static> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libweft-${checking}.a COMPONENT checking EXCLUDE_FROM_ALL)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT checking EXCLUDE_FROM_ALL
            FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
    weft_pkgconfig(weft-${checking} checking weft-checking)
endif()

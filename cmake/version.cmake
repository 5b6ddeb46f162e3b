# The version lives in one place, the public header.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/weft/version.h lines REGEX "define WEFT_VERSION_(MAJOR|MINOR|PATCH) ")
set(WEFT_VERSION "")
foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "WEFT_VERSION_${part} ([0-9]+)" _ "${lines}")
    list(APPEND WEFT_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN WEFT_VERSION "." WEFT_VERSION)

# For the scripts of the tests: a folder for their work, which is removed at the end, and a command that counts.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
# try WHAT COMMAND...: the command must succeed.
try() {
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        sed 's/^/    | /' "$work/log" | head -n 20
    fi
}

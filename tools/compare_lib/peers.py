"""The peers: where their programs are, how they are built, and how they are called. One that cannot be built is missing, with the reason."""
import collections, os, pathlib, shutil, subprocess

from . import rows

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES, BUILT = ROOT / "bench/peers", ROOT / "build/peers"
# Without NDEBUG, Boost's assertions would run in its hot paths.
C, CXX = (("gcc", "-std=gnu11", "-O2", "-DNDEBUG", "-Wall", "-Wextra"), ("g++", "-std=c++17", "-O2", "-DNDEBUG", "-Wall", "-Wextra"))

# `build`: the command that makes it, in `folder`. `run`: how it is called; {workers} is filled in, and ROW WORKERS N SIZE are appended, and the number of the
# form where there are several.
Peer = collections.namedtuple("Peer", "name title package tool sources folder build run settings")


def compiled(name, title, package, file, compiler, *libraries):
    program = BUILT / f"{name}_peer"
    build = (*compiler, str(SOURCES / file), "-o", str(program), *libraries)
    return Peer(name, title, package, compiler[0], (file, "peer.h"), SOURCES, build, (str(program),), {})


def every():
    return [
        Peer("go", "Go", "golang-go", "go", ("go/main.go", "go/messages.go", "go/life.go", "go/go.mod"), SOURCES / "go",
             ("go", "build", "-o", str(BUILT / "go_peer"), "."), (str(BUILT / "go_peer"),),
             {"GOCACHE": str(BUILT / "go-cache"), "GOPATH": str(BUILT / "go-path"), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}),
        Peer("tokio", "Tokio", "librust-tokio-dev", "cargo", ("tokio/src/main.rs", "tokio/src/messages.rs", "tokio/src/life.rs", "tokio/Cargo.toml"),
             SOURCES / "tokio", ("cargo", "build", "--release", "--offline", "--target-dir", str(BUILT / "tokio")),
             (str(BUILT / "tokio/release/tokio_peer"),), {}),
        Peer("erlang", "Erlang", "erlang-base", "erlc", ("erlang/erlang_peer.erl",), SOURCES / "erlang",
             ("erlc", "+inline", "-o", str(BUILT), "erlang_peer.erl"),
             ("erl", "+S", "{workers}:{workers}", "+P", "4000000", "-noinput", "-noshell", "-pa", str(BUILT), "-s", "erlang_peer", "main", "-extra"), {}),
        compiled("boost", "Boost.Fiber", "libboost-fiber-dev", "boost_peer.cpp", CXX, "-lboost_fiber", "-lboost_context", "-pthread"),
        compiled("caf", "CAF", "libcaf-dev", "caf_peer.cpp", CXX, "-lcaf_core", "-pthread"),
        compiled("tbb", "oneTBB", "libtbb-dev", "tbb_peer.cpp", CXX, "-ltbb"),
        compiled("st", "State Threads", "libst-dev", "st_peer.c", C, "-lst"),
        compiled("libuv", "libuv", "libuv1-dev", "uv_peer.c", C, "-luv"),
    ]


def product(peer):
    """The file that the build makes."""
    return BUILT / "erlang_peer.beam" if peer.name == "erlang" else pathlib.Path(peer.run[0])


def is_new(peer):
    made, of = product(peer), [pathlib.Path(__file__), *(SOURCES / name for name in peer.sources)]
    return made.exists() and all(each.stat().st_mtime <= made.stat().st_mtime for each in of)


def build(peer):
    """Builds it if need be: "" or why not."""
    if is_new(peer):
        return ""
    if not shutil.which(peer.tool):
        return f"{peer.tool} is not installed (Debian: {peer.package})"
    BUILT.mkdir(parents=True, exist_ok=True)
    log = BUILT / f"{peer.name}.log"
    done = subprocess.run(peer.build, cwd=peer.folder, env={**os.environ, **peer.settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    log.write_text(done.stdout)
    if done.returncode == 0:
        product(peer).touch()
        return ""
    return f"does not build (Debian: {peer.package}; {log.relative_to(ROOT)})"


def commands(peer, work, n):
    """One for each form in which the peer does this work; most have one."""
    first = [*(word.format(workers=work.workers) for word in peer.run), work.name, str(work.workers), str(n), str(work.size)]
    return [[*first, str(form)] for form in range(count)] if (count := rows.forms(peer.name, work)) > 1 else [first]


def version(peer):
    """Debian's; "" where it is from somewhere else."""
    if not shutil.which("dpkg-query"):
        return ""
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", peer.package], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else ""

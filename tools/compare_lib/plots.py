"""Plots, as SVG by gnuplot. Without gnuplot there are none."""
import shutil, subprocess

COLOURS = {"weft": "#c0392b", "weft step": "#e67e22", "weft preempted": "#922b21", "go": "#00add8", "tokio": "#2c3e50", "erlang": "#a2003e", "boost": "#7d3c98",
           "caf": "#1e8449", "tbb": "#2e86c1", "st": "#7f8c8d", "libuv": "#b7950b", "threads": "#000000"}
POINTS = {name: number for number, name in enumerate(COLOURS, 4)}


def gnuplot(script):
    return subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, timeout=60, check=False).returncode == 0


def begin(path, width, height):
    return f"set terminal svg size {width},{height} dynamic font 'sans-serif,12' background '#ffffff'\nset output '{path}'\nset grid lc rgb '#dddddd'\n"


def curve_script(report, one, path):
    """Cost against size, both axes by powers of ten; bars from the lowest to the highest round."""
    blocks, plots = [], []
    for name in one.points[0][1].who:
        found = [(place, report.figure(work, name, None)) for place, work in one.points]
        lines = [f"{place} {each.median} {each.low} {each.high}" for place, each in found if each]
        if lines:
            block = "$" + name.replace(" ", "_")
            blocks.append(f"{block} << E\n" + "\n".join(lines) + "\nE\n")
            style = f"lc rgb '{COLOURS[name]}' pt {POINTS[name]}"
            plots.append(f"{block} using 1:2:3:4 with yerrorlines {style} lw 1.5 title '{report.titles.get(name, name)}'")
    ticks = "set xtics (1,2,4,8)\n" if one.name == "workers" else "set format x '%.0f'\n"
    return ("".join(blocks) + begin(path, 860, 460) + f"set title '{one.title}' noenhanced\nset xlabel '{one.axis}'\nset ylabel 'ns'\nset logscale xy\n"
            "set key outside right\n" + ticks + "plot " + ", \\\n  ".join(plots) + "\n") if plots else ""


def ratio_script(report, path):
    """A line for each row, a point for each peer on it; left of 1 the peer is ahead."""
    rows, blocks, plots = list(reversed(report.table)), [], []
    for name in report.shown():
        found = [(report.ratio(row, name), at) for at, row in enumerate(rows)]
        lines = [f"{each.median} {at} {each.low} {each.high}" for each, at in found if each and each.low > 0]
        if lines:
            blocks.append(f"${name} << E\n" + "\n".join(lines) + "\nE\n")
            plots.append(f"${name} using 1:2:3:4 with xerrorbars lc rgb '{COLOURS[name]}' pt {POINTS[name]} ps 0.7 title '{report.titles[name]}'")
    ticks = ", ".join(f"'{row.title}' {at}" for at, row in enumerate(rows))
    warning = f"set title 'not to be quoted: {'; '.join(report.doubts)}' noenhanced tc rgb '#c0392b'\n" if report.doubts else ""
    return ("".join(blocks) + begin(path, 1000, 120 + 20 * len(rows)) + warning + f"set ytics ({ticks}) noenhanced font ',10'\nset yrange [-1:{len(rows)}]\nset logscale x\n"
            "set xlabel 'times what weft needs (left of 1 the peer is ahead)'\nset key outside top horizontal\n"
            f"set arrow from 1,-1 to 1,{len(rows)} nohead lw 2 lc rgb '#c0392b'\nplot " + ", \\\n  ".join(plots) + "\n") if plots else ""


def draw(report, folder):
    """Names of the plots that were drawn there."""
    if not shutil.which("gnuplot"):
        return []
    scripts = {"ratios": ratio_script(report, folder / "ratios.svg")} if report.table else {}
    scripts.update({f"scale-{one.name}": curve_script(report, one, folder / f"scale-{one.name}.svg") for one in report.series})
    return [name for name, script in scripts.items() if script and gnuplot(script)]

// wc over a whole tree: one process for every file and every folder. Each reads as if it were alone; the runtime keeps the cores busy while
// some of them wait for the disk.
//
//     wc FOLDER...        without one it makes a small tree, counts that and removes it
#include <weft/weft.hpp>

#include <dirent.h>

#include <cctype>
#include <filesystem>
#include <iostream>

struct counts {
    size_t files = 0, lines = 0, words = 0, bytes = 0;
    weft::mutex lock;
};

static void count_file(const std::string &path, counts &total) {
    char *text = nullptr;
    size_t size = 0, lines = 0, words = 0;
    if (int error = weft_file_load(path.c_str(), &text, &size)) { // blocks this process and no other
        std::cerr << "wc: " << path << ": " << weft_strerror(error) << '\n';
        return;
    }
    weft::defer frees([&] { weft_file_free(text, size); });
    bool within = false;
    for (char c : std::string_view(text, size)) {
        bool space = std::isspace(static_cast<unsigned char>(c));
        lines += c == '\n';
        words += !space && !within;
        within = !space;
    }
    std::lock_guard<weft::mutex> guard(total.lock);
    total.files++, total.lines += lines, total.words += words, total.bytes += size;
}

// Returns when all that is below has been counted.
static void count_folder(const std::string &path, counts &total) {
    weft_dir *dir = nullptr;
    weft_dir_entry entry;
    weft::check(weft_dir_open(path.c_str(), &dir), path.c_str());
    weft::defer closes([&] { weft_dir_close(dir); });
    weft::scope scope;
    while (weft::check(weft_dir_next(dir, &entry), path.c_str()) > 0) {
        std::string below = path + '/' + entry.name;
        if (entry.type == DT_DIR) scope.spawn([below, &total] { count_folder(below, total); });
        if (entry.type == DT_REG) scope.spawn([below, &total] { count_file(below, total); });
    }
    scope.end();
}

// A tree to count: 3 folders with 100 files each; removed with the object.
struct tree {
    char top[32] = "/tmp/weft-wc-XXXXXX";
    tree() {
        if (!mkdtemp(top)) throw std::runtime_error("no folder");
        for (int i = 0; i < 300; i++) {
            std::string folder = std::string(top) + '/' + std::to_string(i / 100);
            if (i % 100 == 0) weft::check(weft_file_mkdir(folder.c_str(), 0700));
            weft::check(weft_file_save((folder + '/' + std::to_string(i)).c_str(), "warp and\nweft\n", 14, 0600));
        }
    }
    ~tree() { std::filesystem::remove_all(top); }
};

static int app(int argc, char **argv) {
    counts total;
    if (argc == 1) count_folder(tree().top, total);
    for (int i = 1; i < argc; i++)
        count_folder(argv[i], total);
    std::cout << total.files << " files, " << total.lines << " lines, " << total.words << " words, " << total.bytes << " bytes\n";
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }
/* Prints:
 * 300 files, 600 lines, 900 words, 4200 bytes
 */

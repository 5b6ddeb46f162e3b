// A process that copies a file. Opening, reading and writing block this process and no other.
#include <weft/weft.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <vector>

// A descriptor of the operating system's, closed with it.
class file {
    int descriptor_;

  public:
    file(const std::string &path, int flags) : descriptor_(weft::check(weft_file_open(path.c_str(), flags, 0600), path.c_str())) {}
    file(const file &) = delete;
    file &operator=(const file &) = delete;
    ~file() { weft_file_close(descriptor_); }
    size_t read(std::vector<char> &block) {
        return static_cast<size_t>(weft::check(weft_file_read(descriptor_, block.data(), block.size(), WEFT_FOREVER)));
    }
    void write(const std::vector<char> &block, size_t size) {
        weft::check(weft_file_write_all(descriptor_, block.data(), size, nullptr, WEFT_FOREVER));
    }
};

static size_t copy(const std::string &from, const std::string &to) {
    file in(from, O_RDONLY), out(to, O_WRONLY | O_CREAT | O_TRUNC);
    std::vector<char> block(64 << 10);
    size_t copied = 0;
    while (size_t size = in.read(block)) {
        out.write(block, size);
        copied += size;
    }
    return copied;
}

static int app(int, char **) {
    char from[] = "/tmp/weft-copy-XXXXXX";
    if (mkstemp(from) < 0) return 1;
    std::string to = std::string(from) + "-2", text(200000, 'x');
    weft::defer removes([&] { unlink(from), unlink(to.c_str()); });
    weft::check(weft_file_save(from, text.data(), text.size(), 0600));
    std::cout << "copied " << copy(from, to) << " bytes\n";
    return 0;
}

int main(int argc, char **argv) { return weft::main(argc, argv, app); }
/* Prints:
 * copied 200000 bytes
 */

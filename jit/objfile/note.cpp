/* SPDX-License-Identifier: Apache-2.0
 * See note.h; "Code Object V5 Metadata" of LLVM's AMDGPU guide. A section gets other contents at the end of the file, where its header then
 * leads. */
#include "jit/objfile/note.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELF.h>

#include <cstring>
#include <optional>

namespace {

using elf = llvm::object::ELF64LE;
using elf_file = llvm::object::ELFFile<elf>;
using llvm::msgpack::DocNode;

template <class T>
std::optional<T>
good(llvm::Expected<T> e)
{
    if (e)
        return std::move(*e);
    llvm::consumeError(e.takeError());
    return std::nullopt;
}

template <class T>
llvm::StringRef
bytes_of(const T &v)
{
    return { reinterpret_cast<const char *>(&v), sizeof v };
}

std::optional<elf_file>
read(const cw_buf &object)
{
    std::optional<elf_file> file = good(elf_file::create({ object.data, object.size }));
    if (file && (file->getHeader().e_type != llvm::ELF::ET_REL || file->getHeader().e_machine != llvm::ELF::EM_AMDGPU))
        file.reset();
    return file;
}

/* The section header is at `header` in the file. */
void
change_section(cw_buf *object, size_t header, uint32_t type, llvm::StringRef contents)
{
    static const char padding[8] = "";
    elf::Shdr s;
    std::memcpy(&s, object->data + header, sizeof s);
    cw_buf_append(object, padding, -object->size & 7);
    s.sh_type = type;
    s.sh_offset = object->size;
    s.sh_size = contents.size();
    cw_buf_append(object, contents.data(), contents.size());
    if (!object->failed)
        std::memcpy(object->data + header, &s, sizeof s);
}

size_t
place_of(const cw_buf *object, const elf::Shdr &s)
{
    return size_t(reinterpret_cast<const char *>(&s) - object->data);
}

/* ---- the note ------------------------------------------------------------------------------------------------------------------ */

const char owner[8] = "AMDGPU";         /* padded to 4 bytes */

struct note {
    size_t header;                      /* of its section */
    std::string metadata;
};

std::optional<note>
find_note(const cw_buf *object)
{
    std::optional<elf_file> file = read(*object);
    auto sections = file ? good(file->sections()) : std::nullopt;
    std::optional<note> found;
    for (size_t i = 0; sections && i < sections->size() && !found; i++) {
        const elf::Shdr &s = (*sections)[i];
        llvm::Error e = llvm::Error::success();
        if (s.sh_type == llvm::ELF::SHT_NOTE)
            for (const elf::Note &n : file->notes(s, e))
                if (n.getType() == llvm::ELF::NT_AMDGPU_METADATA && n.getName() == owner)
                    found = { place_of(object, s), n.getDescAsStringRef(4).str() };
        llvm::consumeError(std::move(e));
    }
    return found;
}

std::string
write_note(llvm::StringRef metadata)
{
    elf::Nhdr n;
    n.n_namesz = std::strlen(owner) + 1;
    n.n_descsz = uint32_t(metadata.size());
    n.n_type = llvm::ELF::NT_AMDGPU_METADATA;
    std::string text = (bytes_of(n) + bytes_of(owner) + metadata).str();
    text.resize((text.size() + 3) / 4 * 4);
    return text;
}

/* Lists of kernels are joined; of the rest the first object's stays. */
int
merge(DocNode *to, DocNode from, DocNode key)
{
    if (to->getKind() != from.getKind())
        return -1;
    return key.isString() && key.getString() == "amdhsa.kernels" ? int(to->getArray().size()) : 0;
}

bool
add_alias(llvm::msgpack::ArrayDocNode &kernels, const cwj_amd_alias &a)
{
    llvm::msgpack::Document &document = *kernels.getDocument();
    for (DocNode &k : kernels) {
        if (!k.isMap() || k.getMap()[".name"] != document.getNode(a.of))
            continue;
        llvm::msgpack::MapDocNode copy = document.getMapNode();
        for (auto &entry : k.getMap())
            copy[entry.first] = entry.second;
        copy[".name"] = document.getNode(a.name);
        copy[".symbol"] = document.getNode(std::string(a.name) + ".kd", true);
        kernels.push_back(copy);
        return true;
    }
    return false;
}

bool
join_notes(llvm::ArrayRef<cw_buf *> objects, llvm::ArrayRef<cwj_amd_alias> aliases)
{
    std::vector<note> notes;            /* the document refers to their texts */
    llvm::msgpack::Document document;
    for (cw_buf *o : objects) {
        std::optional<note> n = find_note(o);
        if (!n)
            return false;
        notes.push_back(std::move(*n));
    }
    for (const note &n : notes)
        if (!document.readFromBlob(n.metadata, false, merge) || !document.getRoot().isMap())
            return false;
    DocNode &kernels = document.getRoot().getMap()["amdhsa.kernels"];
    for (const cwj_amd_alias &a : aliases)
        if (!kernels.isArray() || !add_alias(kernels.getArray(), a))
            return false;
    std::string all;
    document.writeToBlob(all);
    for (size_t i = 0; i < objects.size(); i++)
        change_section(objects[i], notes[i].header, i ? llvm::ELF::SHT_NULL : llvm::ELF::SHT_NOTE, i ? "" : write_note(all));
    return true;
}

/* ---- symbols ------------------------------------------------------------------------------------------------------------------- */

/* Returns the number of aliases whose kernel is in the object. */
size_t
add_symbols(cw_buf *object, llvm::ArrayRef<cwj_amd_alias> aliases)
{
    std::optional<elf_file> file = read(*object);
    auto sections = file ? good(file->sections()) : std::nullopt;
    const elf::Shdr *table = nullptr;
    for (size_t i = 0; sections && i < sections->size() && !table; i++)
        if ((*sections)[i].sh_type == llvm::ELF::SHT_SYMTAB)
            table = &(*sections)[i];
    auto names_header = table ? good(file->getSection(table->sh_link)) : std::nullopt;
    auto old_names = names_header ? good(file->getStringTable(**names_header)) : std::nullopt;
    auto old_symbols = table ? good(file->symbols(table)) : std::nullopt;
    if (!old_names || !old_symbols)
        return 0;
    llvm::StringMap<const elf::Sym *> defined;
    llvm::SmallString<0> symbols, names(*old_names);
    for (const elf::Sym &s : *old_symbols) {
        auto name = good(s.getName(*old_names));
        if (name && s.st_shndx != llvm::ELF::SHN_UNDEF)
            defined.try_emplace(*name, &s);
        symbols += bytes_of(s);
    }
    size_t found = 0;
    for (const cwj_amd_alias &a : aliases) {
        const elf::Sym *code = defined.lookup(a.of), *descriptor = defined.lookup((llvm::StringRef(a.of) + ".kd").str());
        if (!code || !descriptor)
            continue;
        for (const elf::Sym *s : { code, descriptor }) {
            elf::Sym copy = *s;
            copy.st_name = uint32_t(names.size());
            symbols += bytes_of(copy);
            names += a.name;
            names += s == descriptor ? ".kd" : "";
            names.push_back(0);
        }
        found++;
    }
    const size_t symbols_place = place_of(object, *table), names_place = place_of(object, **names_header);
    change_section(object, symbols_place, llvm::ELF::SHT_SYMTAB, symbols);
    change_section(object, names_place, llvm::ELF::SHT_STRTAB, names);
    return found;
}

} // namespace

extern "C" cw_result
cwj_amd_join(cw_buf *const *objects, size_t count, const cwj_amd_alias *alias, size_t naliases)
{
    llvm::ArrayRef<cw_buf *> all(objects, count);
    llvm::ArrayRef<cwj_amd_alias> aliases(alias, naliases);
    size_t found = 0;
    for (cw_buf *o : all)
        found += naliases ? add_symbols(o, aliases) : 0;
    if (found != naliases || !join_notes(all, aliases))
        return CW_ERR_DAMAGED;
    return llvm::any_of(all, [](const cw_buf *o) { return o->failed; }) ? CW_ERR_NOMEM : CW_OK;
}

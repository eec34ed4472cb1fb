// Has DXC, Microsoft's compiler for Direct3D 12, compile shaders. A program for Windows, which Wine runs; see
// tools/xtask/src/dxc.rs.
//
//   compile.exe DXCOMPILER LIST
//
// DXCOMPILER is the library dxcompiler.dll. Each line of LIST names a file of HLSL, its entry point and its profile, such
// as cs_6_0. What the compiler says against one goes to the output; the exit code is 1 then, and 2 if nothing can be
// compiled.

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

// The parts of dxcapi.h that are needed: methods of an interface are known by their places.
typedef struct {
    const void *text;
    SIZE_T size;
    UINT encoding;
} Buffer;

typedef struct Blob Blob;
typedef struct Result Result;
typedef struct Compiler Compiler;

struct Blob {
    struct {
        void *unknown[3];
        void *(WINAPI *pointer)(Blob *);
        SIZE_T(WINAPI *size)(Blob *);
    } *methods;
};

struct Result {
    struct {
        void *unknown[2];
        ULONG(WINAPI *release)(Result *);
        HRESULT(WINAPI *status)(Result *, HRESULT *);
        HRESULT(WINAPI *result)(Result *, Blob **);
        HRESULT(WINAPI *errors)(Result *, Blob **);
    } *methods;
};

struct Compiler {
    struct {
        void *unknown[3];
        HRESULT(WINAPI *compile)
        (Compiler *, const Buffer *, const WCHAR **, UINT32, void *, const GUID *, Result **);
    } *methods;
};

typedef HRESULT(WINAPI *CreateInstance)(const GUID *, const GUID *, void **);

static const GUID CLASS_COMPILER = {
    0x73e22d93, 0xe6ce, 0x47f3, {0xb5, 0xbf, 0xf0, 0x66, 0x4f, 0x39, 0xc1, 0xb0}};
static const GUID INTERFACE_COMPILER = {
    0x228b4687, 0x5a6a, 0x4730, {0x90, 0x0c, 0x97, 0x02, 0xb2, 0x20, 0x3f, 0x54}};
static const GUID INTERFACE_RESULT = {
    0x58346cda, 0xdde7, 0x4497, {0x94, 0x61, 0x6f, 0x87, 0xaf, 0x5e, 0x06, 0x59}};

static const UINT UTF_8 = 65001;

static void stop(const char *what, const char *name) {
    fprintf(stderr, "%s %s\n", what, name);
    exit(2);
}

static char *read_file(const char *name, SIZE_T *size) {
    FILE *file = fopen(name, "rb");
    if (!file) stop("cannot read", name);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *text = calloc(*size + 1, 1);
    if (fread(text, 1, *size, file) != *size) stop("cannot read", name);
    fclose(file);
    return text;
}

// Compiles one shader; whether that went well.
static int compile(Compiler *compiler, const char *name, const char *entry, const char *profile) {
    WCHAR wide_entry[256], wide_profile[16];
    MultiByteToWideChar(CP_UTF8, 0, entry, -1, wide_entry, 256);
    MultiByteToWideChar(CP_UTF8, 0, profile, -1, wide_profile, 16);
    // Those of wgpu.
    const WCHAR *arguments[] = {L"-E", wide_entry, L"-T", wide_profile, L"-HV", L"2018", L"-no-warnings", L"-Ges"};
    Buffer source = {0, 0, UTF_8};
    source.text = read_file(name, &source.size);
    Result *result = 0;
    HRESULT status = compiler->methods->compile(
        compiler, &source, arguments, sizeof arguments / sizeof *arguments, 0, &INTERFACE_RESULT, &result);
    if (status < 0 || !result) stop("the compiler does not take", name);
    result->methods->status(result, &status);
    Blob *code = 0, *errors = 0;
    result->methods->result(result, &code);
    int is_made = status >= 0 && code && code->methods->size(code) > 0;
    if (!is_made) {
        result->methods->errors(result, &errors);
        const char *text = errors && errors->methods->size(errors) ? errors->methods->pointer(errors) : "";
        printf("%s, %s: %s\n", name, entry, text);
    }
    result->methods->release(result);
    free((void *)source.text);
    return is_made;
}

int main(int count, char **arguments) {
    if (count != 3) stop("expected a library and a list, not", "that");
    HMODULE library = LoadLibraryA(arguments[1]);
    if (!library) stop("cannot load", arguments[1]);
    CreateInstance create = (CreateInstance)(void *)GetProcAddress(library, "DxcCreateInstance");
    Compiler *compiler = 0;
    if (!create || create(&CLASS_COMPILER, &INTERFACE_COMPILER, (void **)&compiler) < 0) {
        stop("there is no compiler in", arguments[1]);
    }
    SIZE_T size;
    char *list = read_file(arguments[2], &size);
    int compiled = 0, wrong = 0;
    for (char *line = strtok(list, "\r\n"); line; line = strtok(0, "\r\n")) {
        char name[1024], entry[256], profile[16];
        if (sscanf(line, "%1023s %255s %15s", name, entry, profile) != 3) stop("cannot read the line", line);
        compiled++;
        wrong += !compile(compiler, name, entry, profile);
    }
    printf("%d shaders compiled, %d of them with mistakes\n", compiled, wrong);
    return wrong || !compiled;
}

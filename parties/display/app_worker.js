'use strict';
// Runs trefoil's own commands, compiled to WebAssembly, on files in memory: each action is a new instance, whose memory
// is dropped. These are the calls of WASI that they make. Nothing here reaches a network or a disk.
let module, kept;

const GOOD = 0, BAD = 8, EXISTS = 20, NOENT = 44, FILE = 4, FOLDER = 3;

function system(args, files) {
  const open = [null, {text: ''}, {text: ''}, {folder: true}];
  const bytes = args.map(a => new TextEncoder().encode(a + '\0'));
  let memory;
  const view = () => new DataView(memory.buffer);
  const at = (p, n) => new Uint8Array(memory.buffer, p, n);
  const path = (p, n) => new TextDecoder().decode(at(p, n)).replace(/^\/+/, '');
  const sizes = (count, total) => {
    view().setUint32(count, bytes.length, true);
    view().setUint32(total, bytes.reduce((n, b) => n + b.length, 0), true);
    return GOOD;
  };
  const parts = function* (p, n) {
    for (let i = 0; i < n; i++)
      yield [view().getUint32(p + 8 * i, true), view().getUint32(p + 8 * i + 4, true)];
  };
  const stat = (to, size) => {
    at(to, 64).fill(0);
    view().setUint8(to + 16, FILE);
    view().setBigUint64(to + 32, BigInt(size), true);
    return GOOD;
  };
  const write = (file, from) => {
    if ('text' in file)
      return void (file.text += file.decoder === undefined
        ? (file.decoder = new TextDecoder()).decode(from, {stream: true})
        : file.decoder.decode(from, {stream: true}));
    const end = file.at + from.length;
    if (end > file.of.data.length) {
      const grown = new Uint8Array(Math.max(end, 2 * file.of.data.length));
      grown.set(file.of.data.subarray(0, file.of.size));
      file.of.data = grown;
    }
    file.of.data.set(from, file.at);
    file.at = end;
    file.of.size = Math.max(file.of.size, end);
  };
  const calls = {
    args_sizes_get: sizes,
    args_get(list, to) {
      bytes.forEach((b, i) => {
        view().setUint32(list + 4 * i, to, true);
        at(to, b.length).set(b);
        to += b.length;
      });
      return GOOD;
    },
    environ_sizes_get(count, total) {
      view().setUint32(count, 0, true);
      view().setUint32(total, 0, true);
      return GOOD;
    },
    environ_get: () => GOOD,
    clock_time_get(id, precision, to) {
      view().setBigUint64(to, BigInt(Date.now()) * 1000000n, true);
      return GOOD;
    },
    random_get(to, n) {
      for (let k = 0; k < n; k += 65536)
        crypto.getRandomValues(at(to + k, Math.min(65536, n - k)));
      return GOOD;
    },
    fd_prestat_get(fd, to) {
      if (fd !== 3)
        return BAD;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return GOOD;
    },
    fd_prestat_dir_name(fd, to) {
      view().setUint8(to, 47);
      return GOOD;
    },
    fd_fdstat_get(fd, to) {
      if (fd !== 0 && !open[fd])
        return BAD;
      at(to, 24).fill(0);
      view().setUint8(to, fd !== 0 && open[fd].folder ? FOLDER : FILE);
      view().setBigUint64(to + 8, 0xffffffffffffffffn, true);
      view().setBigUint64(to + 16, 0xffffffffffffffffn, true);
      return GOOD;
    },
    fd_fdstat_set_flags: () => GOOD,
    fd_sync: () => GOOD,
    fd_filestat_get: (fd, to) => (open[fd] && open[fd].of ? stat(to, open[fd].of.size) : BAD),
    path_filestat_get(fd, flags, p, n, to) {
      const name = path(p, n);
      if (name === '' || name === '.') {
        stat(to, 0);
        view().setUint8(to + 16, FOLDER);
        return GOOD;
      }
      return files.has(name) ? stat(to, files.get(name).size) : NOENT;
    },
    path_open(fd, look, p, n, how, rights, inherit, flags, to) {
      const name = path(p, n), create = how & 1, fresh = how & 4, empty = how & 8;
      if (name === '' || name === '.') {
        open.push({folder: true});
        view().setUint32(to, open.length - 1, true);
        return GOOD;
      }
      if (files.has(name) && fresh)
        return EXISTS;
      if (!files.has(name)) {
        if (!create)
          return NOENT;
        files.set(name, {data: new Uint8Array(65536), size: 0});
      }
      if (empty)
        files.get(name).size = 0;
      open.push({of: files.get(name), at: 0});
      view().setUint32(to, open.length - 1, true);
      return GOOD;
    },
    path_rename(fd, p, n, other, q, m) {
      if (!files.has(path(p, n)))
        return NOENT;
      files.set(path(q, m), files.get(path(p, n)));
      files.delete(path(p, n));
      return GOOD;
    },
    path_link(fd, flags, p, n, other, q, m) {
      if (!files.has(path(p, n)))
        return NOENT;
      if (files.has(path(q, m)))
        return EXISTS;
      files.set(path(q, m), files.get(path(p, n)));
      return GOOD;
    },
    path_create_directory: () => GOOD, // names may have slashes
    path_unlink_file: (fd, p, n) => (files.delete(path(p, n)) ? GOOD : NOENT),
    fd_close: fd => (open[fd] ? ((open[fd] = null), GOOD) : BAD),
    fd_seek(fd, offset, whence, to) {
      const f = open[fd];
      if (!f || !f.of)
        return 70;
      f.at = Number(offset) + (whence === 0 ? 0 : whence === 1 ? f.at : f.of.size);
      view().setBigUint64(to, BigInt(f.at), true);
      return GOOD;
    },
    fd_read(fd, list, n, to) {
      const f = open[fd];
      let sum = 0;
      if (!f || !f.of)
        return BAD;
      for (const [p, size] of parts(list, n)) {
        const k = Math.max(0, Math.min(size, f.of.size - f.at));
        at(p, k).set(f.of.data.subarray(f.at, f.at + k));
        f.at += k;
        sum += k;
      }
      view().setUint32(to, sum, true);
      return GOOD;
    },
    fd_pread(fd, list, n, offset, to) {
      const f = open[fd];
      if (!f || !f.of)
        return BAD;
      const before = f.at;
      f.at = Number(offset);
      const code = calls.fd_read(fd, list, n, to);
      f.at = before;
      return code;
    },
    fd_write(fd, list, n, to) {
      let sum = 0;
      if (!open[fd])
        return BAD;
      for (const [p, size] of parts(list, n)) {
        write(open[fd], at(p, size).slice());
        sum += size;
      }
      view().setUint32(to, sum, true);
      return GOOD;
    },
    proc_exit(code) {
      throw {exit: code};
    },
  };
  return {calls, open, use: m => (memory = m)};
}

onmessage = async event => {
  const {id, args, want} = event.data;
  if (event.data.module) {
    module = await WebAssembly.compile(event.data.module);
    kept = event.data.files;
    return postMessage({id, code: 0});
  }
  const files = event.data.files || kept;
  const all = new Map(Object.entries(files).map(([name, data]) => [name, {data: want === '*' ? data.slice() : data, size: data.length}]));
  const s = system(['trefoil', ...args], all);
  let code = 0, problem = '';
  try {
    const instance = await WebAssembly.instantiate(module, {wasi_snapshot_preview1: s.calls});
    s.use(instance.exports.memory);
    instance.exports._start();
  } catch (e) {
    code = e && e.exit !== undefined ? e.exit : 1;
    problem = e && e.exit !== undefined ? '' : String(e);
  }
  const made = want && all.get(want);
  const left = want === '*' ? Object.fromEntries([...all].map(([name, f]) => [name, f.data.slice(0, f.size)])) : null;
  postMessage({id, code, out: s.open[1] ? s.open[1].text : '', err: (s.open[2] ? s.open[2].text : '') + problem,
    file: made ? made.data.slice(0, made.size) : null, files: left});
};

// Uploads: kinds of captures, which files are accepted, and the suggested profile name.

export interface KindInfo {
  label: string
  description: string
  accept: string
  isFolder: boolean
  allowsMultiple: boolean
}

export const KINDS = {
  files: {
    label: 'Individual files',
    description: 'NEFF and NTFF files, optionally with their source code: files, a folder or a .tar.gz.',
    accept: '', isFolder: false, allowsMultiple: true,
  },
  directory: {
    label: 'Directory',
    description: 'A system profile, a JAX session, a rank directory or the output of kymo inspect.',
    accept: '', isFolder: true, allowsMultiple: true,
  },
  xplane: {
    label: 'XPlane file',
    description: 'One .xplane.pb file from the JAX, TensorFlow or PyTorch/XLA profiler.',
    accept: '.pb', isFolder: false, allowsMultiple: false,
  },
  kineto: {
    label: 'Kineto trace',
    description: 'One .json or .json.gz file from torch.profiler, or another Chrome trace.',
    accept: '.json,.gz', isFolder: false, allowsMultiple: false,
  },
  explorer: {
    label: 'Explorer files',
    description: 'Neuron Explorer output: JSON of a system or device profile, or Parquet tables.',
    accept: '.json,.gz,.parquet', isFolder: false, allowsMultiple: true,
  },
} satisfies Record<string, KindInfo>

export type Kind = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as Kind[]

/** A file and its path in the upload. */
export interface UploadFile {
  path: string
  file: File
}

export interface Skipped {
  path: string
  reason: string
}

const MAX_DEPTH = 12
const MAX_NAME_BYTES = 200
const MAX_PATH_BYTES = 1000

function rejectionReason(path: string): string | null {
  const parts = path.split('/')
  const bytes = (text: string) => new TextEncoder().encode(text).length
  if (parts.some((part) => part.startsWith('.'))) return 'hidden files are not uploaded'
  if (parts.length > MAX_DEPTH) return `nested more than ${MAX_DEPTH} folders deep`
  if (parts.some((part) => bytes(part) > MAX_NAME_BYTES) || bytes(path) > MAX_PATH_BYTES) return 'name too long'
  if (parts.some((part) => /[\x00-\x1f\x7f\\]/.test(part))) return 'name contains a backslash or control characters'
  return null
}

/** Splits files into accepted ones, sorted by path, and skipped ones. Of duplicate paths the last file wins. */
export function partitionFiles(files: UploadFile[]): { accepted: UploadFile[]; skipped: Skipped[] } {
  const accepted = new Map<string, UploadFile>()
  const skipped: Skipped[] = []
  for (const file of files) {
    const reason = rejectionReason(file.path)
    if (reason) skipped.push({ path: file.path, reason })
    else accepted.set(file.path, file)
  }
  return { accepted: [...accepted.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), skipped }
}

const EXTENSIONS = /(\.(xplane\.pb|pt\.trace\.json|trace\.json|json|pftrace|neff|ntff|parquet|tar|tgz|pb))?(\.gz|\.zst)?$/i

function withoutExtension(name: string): string {
  return name.replace(EXTENSIONS, '') || name
}

/** A name for the profile: that of the folder, or of the first file without its extension. */
export function suggestName(files: UploadFile[]): string {
  const first = files[0]?.path ?? ''
  const name = first.includes('/') ? first.slice(0, first.indexOf('/')) : withoutExtension(first)
  return name.replace(/^[.@]+/, '').replaceAll(/[@/\\]/g, '_').slice(0, 150)
}

/** Guesses the kind of capture from the file names. */
export function guessKind(files: UploadFile[]): Kind {
  if (files.some((file) => file.path.includes('/'))) return 'directory'
  const names = files.map((file) => file.path.toLowerCase())
  if (names.length === 1 && names[0]!.endsWith('.pb')) return 'xplane'
  if (names.some((name) => name.endsWith('.parquet'))) return 'explorer'
  if (names.length === 1 && /\.json(\.gz)?$/.test(names[0]!)) return 'kineto'
  if (names.every((name) => /\.json(\.gz)?$/.test(name))) return 'explorer'
  return 'files'
}

export function totalBytes(files: UploadFile[]): number {
  return files.reduce((sum, file) => sum + file.file.size, 0)
}

/** Removes the common top folder, so that the server sees the same paths as with `kymo view -d FOLDER`. */
export function stripTopFolder(files: UploadFile[]): UploadFile[] {
  const top = files[0]?.path.split('/')[0] + '/'
  if (files.length === 0 || !files.every((file) => file.path.startsWith(top))) return files
  return files.map((file) => ({ ...file, path: file.path.slice(top.length) }))
}

// The server, as functions. Failures are thrown as ApiError with the server's own sentence.
import type {
  EventDetails, EventTable, Marker, Profile, SearchAnswer, SelectionAnswer, SqlAnswer, TableInfo, TracksAnswer, Upload,
} from '../model/api'
import { toDigits, type Span } from '../model/time'

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly answer: Record<string, unknown> = {},
  ) {
    super(message)
  }
}

const BASE = '/api/v1'

function profileUrl(name: string, rest = ''): string {
  return `${BASE}/profiles/${encodeURIComponent(name)}${rest}`
}

async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (failure) {
    if (init.signal?.aborted) throw failure
    throw new ApiError('The server does not answer. Is kymo still running?', 0)
  }
  if (response.ok) return response
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>
  const message = typeof answer.error === 'string' ? answer.error : `The server answered ${response.status}`
  throw new ApiError(message, response.status, answer)
}

async function askJson<T>(url: string, init?: RequestInit): Promise<T> {
  return (await (await ask(url, init)).json()) as T
}

function body(method: string, value: unknown, signal?: AbortSignal): RequestInit {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value), signal }
}

export async function listProfiles(search = ''): Promise<Profile[]> {
  const query = search ? `?search=${encodeURIComponent(search)}` : ''
  return (await askJson<{ profiles: Profile[] }>(`${BASE}/profiles${query}`)).profiles
}

export function getProfile(name: string): Promise<Profile> {
  return askJson(profileUrl(name))
}

export function changeProfile(name: string, change: { name?: string; favourite?: boolean }): Promise<Profile> {
  return askJson(profileUrl(name), body('PATCH', change))
}

export async function deleteProfile(name: string): Promise<void> {
  await ask(profileUrl(name), { method: 'DELETE' })
}

export async function processProfile(name: string): Promise<void> {
  await ask(profileUrl(name, '/process'), { method: 'POST' })
}

export function getSummary(name: string): Promise<Record<string, unknown>> {
  return askJson(profileUrl(name, '/summary'))
}

export function getTracks(name: string): Promise<TracksAnswer> {
  return askJson(profileUrl(name, '/tracks'))
}

/** The binary answer; model/tiles.ts reads it. */
export async function getTimeline(
  name: string, tracks: number[], span: Span, width: number, signal?: AbortSignal,
): Promise<ArrayBuffer> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to), width }
  return (await ask(profileUrl(name, '/timeline'), body('POST', query, signal))).arrayBuffer()
}

export function getEvent(name: string, table: EventTable, id: number, signal?: AbortSignal): Promise<EventDetails> {
  return askJson(profileUrl(name, `/events/${table}/${id}`), { signal })
}

export function search(
  name: string, query: string, limit: number, offset = 0, signal?: AbortSignal,
): Promise<SearchAnswer> {
  const words = new URLSearchParams({ q: query, limit: String(limit), offset: String(offset) })
  return askJson(profileUrl(name, `/search?${words}`), { signal })
}

export function getSelection(name: string, tracks: number[], span: Span, signal?: AbortSignal): Promise<SelectionAnswer> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to) }
  return askJson(profileUrl(name, '/selection'), body('POST', query, signal))
}

export async function listMarkerSets(name: string): Promise<string[]> {
  return (await askJson<{ sets: string[] }>(profileUrl(name, '/markers'))).sets
}

export function getMarkerSet(name: string, set: string): Promise<Marker[]> {
  return askJson(profileUrl(name, `/markers/${encodeURIComponent(set)}`))
}

export async function putMarkerSet(name: string, set: string, markers: Marker[]): Promise<void> {
  await ask(profileUrl(name, `/markers/${encodeURIComponent(set)}`), body('PUT', markers))
}

export async function deleteMarkerSet(name: string, set: string): Promise<void> {
  await ask(profileUrl(name, `/markers/${encodeURIComponent(set)}`), { method: 'DELETE' })
}

export async function listTables(name: string): Promise<TableInfo[]> {
  return (await askJson<{ tables: TableInfo[] }>(profileUrl(name, '/tables'))).tables
}

export function runSql(name: string, query: string, limit = 10_000, signal?: AbortSignal): Promise<SqlAnswer> {
  return askJson(profileUrl(name, '/sql'), body('POST', { query, limit, format: 'json' }, signal))
}

export async function runSqlCsv(name: string, query: string, limit = 1_000_000): Promise<Blob> {
  return (await ask(profileUrl(name, '/sql'), body('POST', { query, limit, format: 'csv' }))).blob()
}

export function tableCsvUrl(name: string, table: string): string {
  return profileUrl(name, `/export?format=csv&table=${encodeURIComponent(table)}`)
}

export function exportUrl(name: string): string {
  return profileUrl(name, '/export?format=parquet-tar')
}

export async function getSource(name: string, file: string): Promise<string> {
  return (await ask(profileUrl(name, `/source?file=${encodeURIComponent(file)}`))).text()
}

export async function beginUpload(name: string, force: boolean): Promise<string> {
  return (await askJson<{ id: string }>(`${BASE}/uploads`, body('POST', { name, force }))).id
}

export function uploadFileUrl(id: string, path: string): string {
  return `${BASE}/uploads/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

export async function processUpload(id: string): Promise<void> {
  await ask(`${BASE}/uploads/${id}/process`, { method: 'POST' })
}

export async function listUploads(): Promise<Upload[]> {
  return (await askJson<{ uploads: Upload[] }>(`${BASE}/uploads`)).uploads
}

export async function cancelUpload(id: string): Promise<void> {
  await ask(`${BASE}/uploads/${id}`, { method: 'DELETE' })
}

// Client of the HTTP API. Failures are thrown as ApiError with the server's message.
import type { ToolInfo } from '../model/analysis'
import type {
  EventDetails, EventTable, FlameResponse, Marker, Profile, SearchResponse, SelectionResponse, SqlResponse, TableInfo, TracksResponse, Upload,
} from '../model/api'
import type { CaptureRequest } from '../model/captures'
import type { Diff } from '../model/diff'
import type { FigureGroup, FigureSubject } from '../model/figures'
import type { StepLanes } from '../model/rankTimelines'
import type { ListedRun, RunProgress, RunReport, RunShape, StepAnswer } from '../model/run'
import { toDigits, type Span } from '../model/time'
import { connection } from './connection.svelte'

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly body: Record<string, unknown> = {},
  ) {
    super(message)
  }
}

const BASE = 'api/v1'

function profileUrl(name: string, rest = ''): string {
  return `${BASE}/profiles/${encodeURIComponent(name)}${rest}`
}

const ATTEMPTS = 5

/** How long a server that is busy asks to wait; 0 when it is not that. */
function retryAfterMs(response: Response): number {
  return response.status === 503 ? Number(response.headers.get('Retry-After') ?? 0) * 1000 : 0
}

/** Sends a request and reads its answer. Where it `waits`, it is sent again when a server that did not respond is back. */
async function send<T>(url: string, init: RequestInit, read: (response: Response) => Promise<T>, waits: boolean, attempt = 1): Promise<T> {
  let response: Response
  try {
    response = await fetch(url, init)
    if (response.ok) return await read(response)
  } catch (failure) {
    if (init.signal?.aborted || failure instanceof SyntaxError) throw failure // given up, or not JSON
    if (!waits || attempt >= ATTEMPTS) throw new ApiError('The server is not responding. Is kymo still running?', 0)
    await connection.returned(init.signal)
    return send(url, init, read, waits, attempt + 1)
  }
  const wait = retryAfterMs(response)
  if (wait > 0 && attempt < ATTEMPTS) {
    await new Promise((resolve) => setTimeout(resolve, wait))
    return send(url, init, read, waits, attempt + 1)
  }
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>
  const message = typeof body.error === 'string' ? body.error : `The server responded with status ${response.status}`
  throw new ApiError(message, response.status, body)
}

const asJson = <T>(response: Response) => response.json() as Promise<T>
const asBytes = (response: Response) => response.arrayBuffer()

/** For what changes something: fails when the server does not respond. */
async function change(url: string, init: RequestInit): Promise<void> {
  await send(url, init, async () => {}, false)
}

function changeJson<T>(url: string, init: RequestInit): Promise<T> {
  return send(url, init, asJson<T>, false)
}

/** For what only reads. */
function askJson<T>(url: string, init: RequestInit = {}): Promise<T> {
  return send(url, init, asJson<T>, true)
}

/** For what has its own way to tell that the server does not respond. */
function tryJson<T>(url: string): Promise<T> {
  return send(url, {}, asJson<T>, false)
}

function jsonBody(method: string, value: unknown, signal?: AbortSignal): RequestInit {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value), signal }
}

export async function listProfiles(search = ''): Promise<Profile[]> {
  const query = search ? `?search=${encodeURIComponent(search)}` : ''
  return (await tryJson<{ profiles: Profile[] }>(`${BASE}/profiles${query}`)).profiles
}

/** The profile with an id, whatever its name is now. */
export async function findProfile(id: string): Promise<Profile | null> {
  return (await tryJson<{ profiles: Profile[] }>(`${BASE}/profiles?id=${encodeURIComponent(id)}`)).profiles[0] ?? null
}

export function getProfile(name: string): Promise<Profile> {
  return tryJson(profileUrl(name))
}

export function changeProfile(name: string, wanted: { name?: string; favorite?: boolean }): Promise<Profile> {
  return changeJson(profileUrl(name), jsonBody('PATCH', wanted))
}

export async function deleteProfile(name: string): Promise<void> {
  await change(profileUrl(name), { method: 'DELETE' })
}

export async function processProfile(name: string): Promise<void> {
  await change(profileUrl(name, '/process'), { method: 'POST' })
}

export function getSummary(name: string): Promise<Record<string, unknown>> {
  return askJson(profileUrl(name, '/summary'))
}

export function getTracks(name: string): Promise<TracksResponse> {
  return tryJson(profileUrl(name, '/tracks'))
}

/** The binary response; see model/timelineData.ts. */
export function getTimeline(
  name: string, tracks: number[], span: Span, width: number, signal?: AbortSignal, search?: string,
): Promise<ArrayBuffer> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to), width, search }
  return send(profileUrl(name, '/timeline'), jsonBody('POST', query, signal), asBytes, true)
}

export function getEvent(name: string, table: EventTable, id: number, signal?: AbortSignal): Promise<EventDetails> {
  return askJson(profileUrl(name, `/events/${table}/${id}`), { signal })
}

export function search(
  name: string, query: string, limit: number, offset = 0, signal?: AbortSignal,
): Promise<SearchResponse> {
  const parameters = new URLSearchParams({ q: query, limit: String(limit), offset: String(offset) })
  return askJson(profileUrl(name, `/search?${parameters}`), { signal })
}

export function getSelection(name: string, tracks: number[], span: Span, signal?: AbortSignal): Promise<SelectionResponse> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to) }
  return askJson(profileUrl(name, '/selection'), jsonBody('POST', query, signal))
}

export function getFlame(name: string, tracks: number[], span: Span, signal?: AbortSignal): Promise<FlameResponse> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to) }
  return askJson(profileUrl(name, '/flame'), jsonBody('POST', query, signal))
}

export async function listMarkerSets(name: string): Promise<string[]> {
  return (await askJson<{ sets: string[] }>(profileUrl(name, '/markers'))).sets
}

export function getMarkerSet(name: string, set: string): Promise<Marker[]> {
  return askJson(profileUrl(name, `/markers/${encodeURIComponent(set)}`))
}

export async function putMarkerSet(name: string, set: string, markers: Marker[]): Promise<void> {
  await change(profileUrl(name, `/markers/${encodeURIComponent(set)}`), jsonBody('PUT', markers))
}

export async function deleteMarkerSet(name: string, set: string): Promise<void> {
  await change(profileUrl(name, `/markers/${encodeURIComponent(set)}`), { method: 'DELETE' })
}

export async function listTables(name: string): Promise<TableInfo[]> {
  return (await askJson<{ tables: TableInfo[] }>(profileUrl(name, '/tables'))).tables
}

export function runSql(name: string, query: string, limit = 10_000, signal?: AbortSignal): Promise<SqlResponse> {
  return askJson(profileUrl(name, '/sql'), jsonBody('POST', { query, limit, format: 'json' }, signal))
}

export function runSqlCsv(name: string, query: string, limit = 1_000_000): Promise<Blob> {
  return send(profileUrl(name, '/sql'), jsonBody('POST', { query, limit, format: 'csv' }), (response) => response.blob(), true)
}

export async function listFigures(): Promise<FigureGroup[]> {
  return (await askJson<{ groups: FigureGroup[] }>(`${BASE}/figures`)).groups
}

/** The query that gives the figures of a group, and why a profile of an earlier version may not have them. */
function askFigures(
  subject: FigureSubject, group: string, parameters: Record<string, string> = {},
): Promise<{ query: string; why_unknown: string | null }> {
  const path = `/figures/${encodeURIComponent(group)}?${new URLSearchParams(parameters)}`
  return askJson(typeof subject === 'string' ? profileUrl(subject, path) : runUrl(subject.dataset, subject.run, path))
}

export async function getFiguresQuery(subject: FigureSubject, group: string, parameters: Record<string, string> = {}): Promise<string> {
  return (await askFigures(subject, group, parameters)).query
}

export async function whyUnknown(subject: FigureSubject, group: string): Promise<string | null> {
  return (await askFigures(subject, group)).why_unknown
}

export async function listTools(name: string): Promise<ToolInfo[]> {
  return (await askJson<{ tools: ToolInfo[] }>(profileUrl(name, '/tools'))).tools
}

/** An analysis, as JSON. */
export function getTool(name: string, tool: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<unknown> {
  return askJson(profileUrl(name, `/tools/${tool}?${new URLSearchParams(parameters)}`), { signal })
}

/** Of runs whose ranks are still being compared, how long that has taken. */
export function getDiff(a: string, b: string, signal?: AbortSignal): Promise<Diff | { status: 'analyzing'; run: string; seconds: number }> {
  return askJson(`${BASE}/diff?${new URLSearchParams({ a, b })}`, { signal })
}

/** The query that gives the figures of a group, over the tables of both profiles. */
export async function getDiffQuery(a: string, b: string, group: string): Promise<string> {
  return (await askJson<{ query: string }>(`${BASE}/diff/figures/${encodeURIComponent(group)}?${new URLSearchParams({ a, b })}`)).query
}

function runUrl(dataset: string, run: string, rest = ''): string {
  return `${BASE}/runs/${encodeURIComponent(dataset)}/${encodeURIComponent(run)}${rest}`
}

export async function listRuns(): Promise<ListedRun[]> {
  return (await askJson<{ runs: ListedRun[] }>(`${BASE}/runs`)).runs
}

/** The lanes and steps of a run; until its analysis is done, how far that is. */
export function getRunShape(dataset: string, run: string, order: string, signal?: AbortSignal): Promise<RunShape | RunProgress> {
  return askJson(runUrl(dataset, run, `/lanes?order=${order}`), { signal })
}

export function getRunReport(dataset: string, run: string, signal?: AbortSignal): Promise<RunReport> {
  return askJson(runUrl(dataset, run, '/report'), { signal })
}

export function getRunPicture(dataset: string, run: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<ArrayBuffer> {
  return send(runUrl(dataset, run, `/heatmap?${new URLSearchParams(parameters)}`), { signal }, asBytes, true)
}

/** Where the largest value of some rows and steps is, by their positions. */
export function getRunWorst(dataset: string, run: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<{ row: number; step: number }> {
  return askJson(runUrl(dataset, run, `/worst?${new URLSearchParams(parameters)}`), { signal })
}

export function getRunStep(dataset: string, run: string, step: number, collective: number, signal?: AbortSignal): Promise<StepAnswer> {
  return askJson(runUrl(dataset, run, `/steps/${step}?collective=${collective}`), { signal })
}

/** The given lanes of a step, its slowest and its median one. */
export function getStepLanes(dataset: string, run: string, step: number, lanes: string[], signal?: AbortSignal): Promise<StepLanes> {
  return askJson(runUrl(dataset, run, `/steps/${step}/lanes?lanes=${lanes.join(',')}`), { signal })
}

export function tableCsvUrl(name: string, table: string): string {
  return profileUrl(name, `/export?format=csv&table=${encodeURIComponent(table)}`)
}

export function exportUrl(name: string, format: 'parquet-tar' | 'perfetto' | 'xplane' | 'json'): string {
  return profileUrl(name, `/export?format=${format}`)
}

export function getSource(name: string, file: string): Promise<string> {
  return send(profileUrl(name, `/source?file=${encodeURIComponent(file)}`), {}, (response) => response.text(), true)
}

/** Whether the server may capture over the network, and the log directory that it then writes runs into. */
export async function captureSettings(): Promise<{ allowed: boolean; log_directory?: string }> {
  return await askJson(`${BASE}/captures`)
}

export async function createCapture(name: string, capture: CaptureRequest): Promise<void> {
  await change(`${BASE}/captures`, jsonBody('POST', { name, ...capture }))
}

export async function createUpload(name: string, force: boolean): Promise<string> {
  return (await changeJson<{ id: string }>(`${BASE}/uploads`, jsonBody('POST', { name, force }))).id
}

export function uploadFileUrl(id: string, path: string): string {
  return `${BASE}/uploads/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

export async function processUpload(id: string): Promise<void> {
  await change(`${BASE}/uploads/${id}/process`, { method: 'POST' })
}

export async function listUploads(): Promise<Upload[]> {
  return (await tryJson<{ uploads: Upload[] }>(`${BASE}/uploads`)).uploads
}

export async function cancelUpload(id: string): Promise<void> {
  await change(`${BASE}/uploads/${id}`, { method: 'DELETE' })
}

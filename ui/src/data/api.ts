// Client of the HTTP API. Failures are thrown as ApiError with the server's message.
import type { ToolInfo } from '../model/analysis'
import type {
  EventDetails, EventTable, FlameResponse, Marker, Profile, SearchResponse, SelectionResponse, SqlResponse, TableInfo, TracksResponse, Upload,
} from '../model/api'
import type { CaptureRequest } from '../model/captures'
import type { Diff } from '../model/diff'
import type { FigureGroup } from '../model/figures'
import type { StepLanes } from '../model/rankTimelines'
import type { RunName, RunProgress, RunReport, RunShape, StepAnswer } from '../model/run'
import { toDigits, type Span } from '../model/time'

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

async function request(url: string, init: RequestInit = {}, attempt = 1): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (failure) {
    if (init.signal?.aborted) throw failure
    throw new ApiError('The server is not responding. Is kymo still running?', 0)
  }
  if (response.ok) return response
  const wait = retryAfterMs(response)
  if (wait > 0 && attempt < ATTEMPTS) {
    await new Promise((resolve) => setTimeout(resolve, wait))
    return request(url, init, attempt + 1)
  }
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>
  const message = typeof body.error === 'string' ? body.error : `The server responded with status ${response.status}`
  throw new ApiError(message, response.status, body)
}

async function requestJson<T>(url: string, init?: RequestInit): Promise<T> {
  return (await (await request(url, init)).json()) as T
}

function jsonBody(method: string, value: unknown, signal?: AbortSignal): RequestInit {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value), signal }
}

export async function listProfiles(search = ''): Promise<Profile[]> {
  const query = search ? `?search=${encodeURIComponent(search)}` : ''
  return (await requestJson<{ profiles: Profile[] }>(`${BASE}/profiles${query}`)).profiles
}

/** The profile with an id, whatever its name is now. */
export async function findProfile(id: string): Promise<Profile | null> {
  return (await requestJson<{ profiles: Profile[] }>(`${BASE}/profiles?id=${encodeURIComponent(id)}`)).profiles[0] ?? null
}

export function getProfile(name: string): Promise<Profile> {
  return requestJson(profileUrl(name))
}

export function changeProfile(name: string, change: { name?: string; favorite?: boolean }): Promise<Profile> {
  return requestJson(profileUrl(name), jsonBody('PATCH', change))
}

export async function deleteProfile(name: string): Promise<void> {
  await request(profileUrl(name), { method: 'DELETE' })
}

export async function processProfile(name: string): Promise<void> {
  await request(profileUrl(name, '/process'), { method: 'POST' })
}

export function getSummary(name: string): Promise<Record<string, unknown>> {
  return requestJson(profileUrl(name, '/summary'))
}

export function getTracks(name: string): Promise<TracksResponse> {
  return requestJson(profileUrl(name, '/tracks'))
}

/** The binary response; see model/timelineData.ts. */
export async function getTimeline(
  name: string, tracks: number[], span: Span, width: number, signal?: AbortSignal, search?: string,
): Promise<ArrayBuffer> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to), width, search }
  return (await request(profileUrl(name, '/timeline'), jsonBody('POST', query, signal))).arrayBuffer()
}

export function getEvent(name: string, table: EventTable, id: number, signal?: AbortSignal): Promise<EventDetails> {
  return requestJson(profileUrl(name, `/events/${table}/${id}`), { signal })
}

export function search(
  name: string, query: string, limit: number, offset = 0, signal?: AbortSignal,
): Promise<SearchResponse> {
  const parameters = new URLSearchParams({ q: query, limit: String(limit), offset: String(offset) })
  return requestJson(profileUrl(name, `/search?${parameters}`), { signal })
}

export function getSelection(name: string, tracks: number[], span: Span, signal?: AbortSignal): Promise<SelectionResponse> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to) }
  return requestJson(profileUrl(name, '/selection'), jsonBody('POST', query, signal))
}

export function getFlame(name: string, tracks: number[], span: Span, signal?: AbortSignal): Promise<FlameResponse> {
  const query = { tracks, from: toDigits(span.from), to: toDigits(span.to) }
  return requestJson(profileUrl(name, '/flame'), jsonBody('POST', query, signal))
}

export async function listMarkerSets(name: string): Promise<string[]> {
  return (await requestJson<{ sets: string[] }>(profileUrl(name, '/markers'))).sets
}

export function getMarkerSet(name: string, set: string): Promise<Marker[]> {
  return requestJson(profileUrl(name, `/markers/${encodeURIComponent(set)}`))
}

export async function putMarkerSet(name: string, set: string, markers: Marker[]): Promise<void> {
  await request(profileUrl(name, `/markers/${encodeURIComponent(set)}`), jsonBody('PUT', markers))
}

export async function deleteMarkerSet(name: string, set: string): Promise<void> {
  await request(profileUrl(name, `/markers/${encodeURIComponent(set)}`), { method: 'DELETE' })
}

export async function listTables(name: string): Promise<TableInfo[]> {
  return (await requestJson<{ tables: TableInfo[] }>(profileUrl(name, '/tables'))).tables
}

export function runSql(name: string, query: string, limit = 10_000, signal?: AbortSignal): Promise<SqlResponse> {
  return requestJson(profileUrl(name, '/sql'), jsonBody('POST', { query, limit, format: 'json' }, signal))
}

export async function runSqlCsv(name: string, query: string, limit = 1_000_000): Promise<Blob> {
  return (await request(profileUrl(name, '/sql'), jsonBody('POST', { query, limit, format: 'csv' }))).blob()
}

export async function listFigures(): Promise<FigureGroup[]> {
  return (await requestJson<{ groups: FigureGroup[] }>(`${BASE}/figures`)).groups
}

/** The query that gives the figures of a group. */
export async function getFiguresQuery(name: string, group: string, parameters: Record<string, string> = {}): Promise<string> {
  return (await requestJson<{ query: string }>(profileUrl(name, `/figures/${encodeURIComponent(group)}?${new URLSearchParams(parameters)}`))).query
}

export async function listTools(): Promise<ToolInfo[]> {
  return (await requestJson<{ tools: ToolInfo[] }>(`${BASE}/tools`)).tools
}

/** An analysis, as JSON. */
export function getTool(name: string, tool: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<unknown> {
  return requestJson(profileUrl(name, `/tools/${tool}?${new URLSearchParams(parameters)}`), { signal })
}

/** Of runs whose ranks are still being compared, how long that has taken. */
export function getDiff(a: string, b: string, signal?: AbortSignal): Promise<Diff | { status: 'analyzing'; run: string; seconds: number }> {
  return requestJson(`${BASE}/diff?${new URLSearchParams({ a, b })}`, { signal })
}

function runUrl(dataset: string, run: string, rest = ''): string {
  return `${BASE}/runs/${encodeURIComponent(dataset)}/${encodeURIComponent(run)}${rest}`
}

export async function listRuns(): Promise<RunName[]> {
  return (await requestJson<{ runs: RunName[] }>(`${BASE}/runs`)).runs
}

/** The lanes and steps of a run; until its analysis is done, how far that is. */
export function getRunShape(dataset: string, run: string, order: string, signal?: AbortSignal): Promise<RunShape | RunProgress> {
  return requestJson(runUrl(dataset, run, `/lanes?order=${order}`), { signal })
}

export function getRunReport(dataset: string, run: string, signal?: AbortSignal): Promise<RunReport> {
  return requestJson(runUrl(dataset, run, '/report'), { signal })
}

export async function getRunPicture(dataset: string, run: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await request(runUrl(dataset, run, `/heatmap?${new URLSearchParams(parameters)}`), { signal })).arrayBuffer()
}

/** Where the largest value of some rows and steps is, by their positions. */
export function getRunWorst(dataset: string, run: string, parameters: Record<string, string>, signal?: AbortSignal): Promise<{ row: number; step: number }> {
  return requestJson(runUrl(dataset, run, `/worst?${new URLSearchParams(parameters)}`), { signal })
}

export function getRunStep(dataset: string, run: string, step: number, collective: number, signal?: AbortSignal): Promise<StepAnswer> {
  return requestJson(runUrl(dataset, run, `/steps/${step}?collective=${collective}`), { signal })
}

/** The given lanes of a step, its slowest and its median one. */
export function getStepLanes(dataset: string, run: string, step: number, lanes: string[], signal?: AbortSignal): Promise<StepLanes> {
  return requestJson(runUrl(dataset, run, `/steps/${step}/lanes?lanes=${lanes.join(',')}`), { signal })
}

export function tableCsvUrl(name: string, table: string): string {
  return profileUrl(name, `/export?format=csv&table=${encodeURIComponent(table)}`)
}

export function exportUrl(name: string, format: 'parquet-tar' | 'perfetto' | 'xplane' | 'json'): string {
  return profileUrl(name, `/export?format=${format}`)
}

export async function getSource(name: string, file: string): Promise<string> {
  return (await request(profileUrl(name, `/source?file=${encodeURIComponent(file)}`))).text()
}

/** Whether the server may capture over the network. */
export async function allowsCaptures(): Promise<boolean> {
  return (await requestJson<{ allowed: boolean }>(`${BASE}/captures`)).allowed
}

export async function createCapture(name: string, capture: CaptureRequest): Promise<void> {
  await request(`${BASE}/captures`, jsonBody('POST', { name, ...capture }))
}

export async function createUpload(name: string, force: boolean): Promise<string> {
  return (await requestJson<{ id: string }>(`${BASE}/uploads`, jsonBody('POST', { name, force }))).id
}

export function uploadFileUrl(id: string, path: string): string {
  return `${BASE}/uploads/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

export async function processUpload(id: string): Promise<void> {
  await request(`${BASE}/uploads/${id}/process`, { method: 'POST' })
}

export async function listUploads(): Promise<Upload[]> {
  return (await requestJson<{ uploads: Upload[] }>(`${BASE}/uploads`)).uploads
}

export async function cancelUpload(id: string): Promise<void> {
  await request(`${BASE}/uploads/${id}`, { method: 'DELETE' })
}

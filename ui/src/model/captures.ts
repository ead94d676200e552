// Captures over the network: what the dialog asks for, as the server takes it.

export interface CaptureForm {
  addresses: string // HOST:PORT, with commas, spaces or line breaks between them
  durationMs: number
  hostLevel: number
  hasDevices: boolean
  hasPython: boolean
  more: string // KEY=VALUE, with commas, spaces or line breaks between them
}

export const DEFAULT_CAPTURE: CaptureForm = {
  addresses: 'localhost:9999', durationMs: 1000, hostLevel: 2, hasDevices: true, hasPython: false, more: '',
}

export const MAX_CAPTURE_MS = 3_600_000

function joinWords(text: string): string {
  return text.split(/[\s,]+/).filter(Boolean).join(',')
}

export interface CaptureRequest {
  addresses: string
  duration_ms: number
  options: string
}

export function captureRequest(form: CaptureForm): CaptureRequest {
  const options = [
    `host_tracer_level=${form.hostLevel}`,
    `device_tracer_level=${form.hasDevices ? 1 : 0}`,
    `python_tracer_level=${form.hasPython ? 1 : 0}`,
    joinWords(form.more),
  ]
  return { addresses: joinWords(form.addresses), duration_ms: form.durationMs, options: options.filter(Boolean).join(',') }
}

export function canCapture(form: CaptureForm): boolean {
  const { durationMs } = form
  return joinWords(form.addresses) !== '' && Number.isInteger(durationMs) && durationMs >= 1 && durationMs <= MAX_CAPTURE_MS
}

/** "worker1 2026-11-17 07.30.12": the first host and the time, in characters that names may have. */
export function suggestCaptureName(addresses: string, now: Date): string {
  const first = joinWords(addresses).split(',')[0] ?? ''
  const host = first.replace(/:\d*$/, '').replaceAll(/[^\w.-]+/g, '_').replace(/^[._]+|_+$/g, '') || 'capture'
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
  return `${host} ${date} ${two(now.getHours())}.${two(now.getMinutes())}.${two(now.getSeconds())}`
}

/** "2026_11_17_07_30_12": the time, UTC, as JAX and XProf name the runs of a log directory. */
export function suggestRunName(now: Date): string {
  return now.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '_')
}

/** The form as it was last used; what is missing or wrong has its default. */
export function readCapture(text: string | null): CaptureForm {
  try {
    const stored = JSON.parse(text ?? '{}') as Record<string, unknown>
    const form: Record<string, unknown> = { ...DEFAULT_CAPTURE }
    for (const [key, value] of Object.entries(DEFAULT_CAPTURE)) if (typeof stored[key] === typeof value) form[key] = stored[key]
    return form as unknown as CaptureForm
  } catch {
    return DEFAULT_CAPTURE
  }
}

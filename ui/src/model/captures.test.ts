import { expect, test } from 'vitest'
import { canCapture, captureRequest, DEFAULT_CAPTURE, readCapture, suggestCaptureName, suggestRunName } from './captures'

test('a request has all addresses and options with commas between them', () => {
  const form = { ...DEFAULT_CAPTURE, addresses: ' a:1, b:2\n[::1]:3 ', hasPython: true, hostLevel: 3, more: 'delay_ms=5 tpu_x=y' }
  expect(captureRequest(form)).toEqual({
    addresses: 'a:1,b:2,[::1]:3', duration_ms: 1000,
    options: 'host_tracer_level=3,device_tracer_level=1,python_tracer_level=1,delay_ms=5,tpu_x=y',
  })
  expect(captureRequest({ ...DEFAULT_CAPTURE, hasDevices: false }).options).toBe('host_tracer_level=2,device_tracer_level=0,python_tracer_level=0')
})

test('addresses and a duration are needed', () => {
  expect(canCapture(DEFAULT_CAPTURE)).toBe(true)
  for (const wrong of [{ addresses: ' , ' }, { durationMs: 0 }, { durationMs: 1.5 }, { durationMs: 3_600_001 }, { durationMs: NaN }])
    expect(canCapture({ ...DEFAULT_CAPTURE, ...wrong })).toBe(false)
})

test('a name is suggested of the first host and the time', () => {
  const now = new Date(2026, 10, 7, 8, 5, 9)
  expect(suggestCaptureName('worker1.example:9999,b:1', now)).toBe('worker1.example 2026-11-07 08.05.09')
  expect(suggestRunName(new Date(Date.UTC(2026, 10, 7, 8, 5, 9)))).toBe('2026_11_07_08_05_09')
  expect(suggestCaptureName('[fd00::1]:9999', now)).toBe('fd00_1 2026-11-07 08.05.09')
  expect(suggestCaptureName('', now)).toBe('capture 2026-11-07 08.05.09')
})

test('what was stored and is no form is not used', () => {
  expect(readCapture(null)).toEqual(DEFAULT_CAPTURE)
  expect(readCapture('[')).toEqual(DEFAULT_CAPTURE)
  expect(readCapture('{"addresses": "x:1", "durationMs": "5", "other": 1}')).toEqual({ ...DEFAULT_CAPTURE, addresses: 'x:1' })
})

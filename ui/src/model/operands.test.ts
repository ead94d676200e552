// Operands as Kymo's device profiles write them, and as the published examples do.
import { expect, test } from 'vitest'
import { readOperands } from './operands'

const meanings = (operands: string) => readOperands(operands).map(({ title, meaning }) => `${title}: ${meaning}`)

test('a matrix product: waits, updates, access patterns, rows and columns', () => {
  const operands =
    'S[2]>=6 S[0]++@complete acc=1 src=bf16@SBUF[0..127]+0x3100[1][128] src1=fp8@SBUF[32..32]+0x0[1,256][64,2] dst=fp32@PSUM[0..63]+0x800[1][128] 128*64'
  expect(meanings(operands)).toEqual([
    'Waits: until semaphore 2 is at least 6',
    'Updates: semaphore 0 goes up by 1 when it is complete',
    'Accumulate: 1 (1: adds to what is in PSUM; 0: replaces it)',
    'Source: 128 elements of bf16 in each partition (256 B); SBUF, partitions 0 to 127 (128); from byte 0x3100 (12,544) of each',
    'Second source: 64 × 2 every 256 elements of fp8 in each partition (128 B); SBUF, partition 32; from byte 0x0 (0) of each',
    'Destination: 128 elements of fp32 in each partition (512 B); PSUM, partitions 0 to 63 (64); from byte 0x800 (2,048) of each',
    'Array: 128 rows × 64 columns of the Tensor engine',
  ])
  expect(readOperands(operands).map(({ text }) => text).join(' ')).toBe(operands)
})

test('the published examples', () => {
  expect(meanings('S[5] (Tensor)++@complete acc_flags=3 row_grp=q0 src=fp16@0x5600[1,0,0][3,1,1] dst=0x2000000[1,0,0][3,1,1] 3*128')).toEqual([
    'Updates: semaphore 5 (Tensor) goes up by 1 when it is complete',
    'Accumulate: 3 (how results are added to what is in PSUM)',
    'Row group: q0 (rows of the array that it uses)',
    'Source: 3 elements of fp16 (6 B); from address 0x5600',
    'Destination: 3 elements; from address 0x2000000',
    'Array: 3 rows × 128 columns of the Tensor engine',
  ])
  expect(meanings('$S[45]>=16 $S[8]++@complete semaphore=9 id=1')).toEqual([
    'Waits: until semaphore 45 is at least 16',
    'Updates: semaphore 8 goes up by 1 when it is complete',
    'Semaphore: 9 (number)',
    'Id: 1 (of the DMA block or collective that it starts)',
  ])
})

test('transfers, collectives, registers and semaphores by the range', () => {
  expect(meanings('id=3 queue=qSyncIO0 descriptors=16 S[4]+=16@done')).toEqual([
    'Id: 3 (of the DMA block or collective that it starts)',
    'DMA queue: qSyncIO0 (that performs the transfers)',
    'Descriptors: 16 (transfers of the block)',
    'Updates: semaphore 4 goes up by 16 when all of that is done',
  ])
  expect(meanings('id=0 AllReduce dtype=bf16 in=4096 out=4096 channel=0')[3]).toBe('Input: 4.10 kB')
  expect(meanings('S[3..9]=0 S[1]-=2@read R[2] op=less value=7 target=12')).toEqual([
    'Updates: semaphores 3 to 9 become 0',
    'Updates: semaphore 1 goes down by 2 when it has read its operands',
    'Register: number 2',
    'Operation: less (of the engine’s ALU)',
    'Value: 7 (immediate)',
    'Target: 12 (instruction to continue with if the comparison holds)',
  ])
})

test('what is not known is shown as it is', () => {
  expect(readOperands('AllReduce foo=bar src=what S[x]')).toEqual([
    { text: 'AllReduce', kind: 'other', title: '', meaning: '' },
    { text: 'foo=bar', kind: 'value', title: 'foo', meaning: 'bar' },
    { text: 'src=what', kind: 'value', title: 'src', meaning: 'what' },
    { text: 'S[x]', kind: 'other', title: '', meaning: '' },
  ])
  expect(readOperands('')).toEqual([])
})

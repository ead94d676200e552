// Keyboard and mouse shortcuts of the timeline, for the help dialog.

export const SHORTCUTS: { keys: string; action: string }[] = [
  { keys: 'W / S', action: 'Zoom in / out at the pointer' },
  { keys: 'A / D, ← / →', action: 'Pan left / right' },
  { keys: '↑ / ↓, Page ↑ / ↓', action: 'Scroll the tracks' },
  { keys: '0', action: 'Zoom out to the whole profile' },
  { keys: 'F', action: 'Zoom to the selected event or box' },
  { keys: ', / .', action: 'Select the previous / next event in the same row' },
  { keys: 'M', action: 'Add a marker at the pointer' },
  { keys: 'B', action: 'Toggle box selection: drag to select tracks and a time range' },
  { keys: 'V', action: 'Switch between the timeline and the analysis' },
  { keys: '1 … 9', action: 'Open the first to ninth tab' },
  { keys: 'Esc', action: 'Clear the box selection, then the selected event' },
  { keys: 'Wheel', action: 'Zoom at the pointer; over the track names: scroll' },
  { keys: 'Shift + wheel, horizontal wheel', action: 'Pan' },
  { keys: 'Alt + wheel', action: 'Scroll the tracks' },
  { keys: 'Drag', action: 'Zoom to the dragged range' },
  { keys: 'Shift + drag, middle button', action: 'Pan and scroll' },
  { keys: 'Alt + drag', action: 'Box selection' },
  { keys: 'Click', action: 'Select an event; arrows show its predecessors and successors' },
  { keys: 'Double click', action: 'Zoom to the event' },
  { keys: 'Right click', action: 'Drop a marker; the menu zooms, hides, pins or copies instead' },
]

// The keys and gestures of the timeline, as the help shows them.

export const SHORTCUTS: { keys: string; action: string }[] = [
  { keys: 'W / S', action: 'Zoom in / out at the pointer' },
  { keys: 'A / D, ← / →', action: 'Move left / right in time' },
  { keys: '↑ / ↓, Page ↑ / ↓', action: 'Scroll the tracks' },
  { keys: '0', action: 'Show all of the profile' },
  { keys: 'F', action: 'Fit the chosen event or the box into the window' },
  { keys: ', / .', action: 'Choose the event before / behind in the same row' },
  { keys: 'M', action: 'Set a marker at the pointer' },
  { keys: 'B', action: 'Box select on or off: dragging selects tracks and time' },
  { keys: 'Esc', action: 'Clear the box, then the chosen event' },
  { keys: 'Wheel', action: 'Zoom at the pointer; over the names of tracks: scroll them' },
  { keys: 'Shift + wheel, sideways', action: 'Move in time' },
  { keys: 'Alt + wheel', action: 'Scroll the tracks' },
  { keys: 'Drag', action: 'Zoom to the dragged range' },
  { keys: 'Shift + drag, middle button', action: 'Move in time and along the tracks' },
  { keys: 'Alt + drag', action: 'Box select' },
  { keys: 'Click', action: 'Choose an event; its causes and effects are drawn as arrows to follow' },
  { keys: 'Double click', action: 'Zoom to the event' },
  { keys: 'Right click', action: 'Menu: marker, zoom, hide, pin, copy' },
]

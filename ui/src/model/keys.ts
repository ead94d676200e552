// The keys and gestures of the timeline, as the help shows them.

export const KEYS: { keys: string; does: string }[] = [
  { keys: 'W / S', does: 'Zoom in / out at the pointer' },
  { keys: 'A / D, ← / →', does: 'Move left / right in time' },
  { keys: '↑ / ↓, Page ↑ / ↓', does: 'Scroll the tracks' },
  { keys: '0', does: 'Show all of the profile' },
  { keys: 'F', does: 'Fit the chosen event or the box into the window' },
  { keys: ', / .', does: 'Choose the event before / behind in the same row' },
  { keys: 'M', does: 'Set a marker at the pointer' },
  { keys: 'B', does: 'Box select on or off: dragging selects tracks and time' },
  { keys: 'Esc', does: 'Clear the box, then the chosen event' },
  { keys: 'Wheel', does: 'Zoom at the pointer; over the names of tracks: scroll them' },
  { keys: 'Shift + wheel, sideways', does: 'Move in time' },
  { keys: 'Alt + wheel', does: 'Scroll the tracks' },
  { keys: 'Drag', does: 'Zoom to the dragged range' },
  { keys: 'Shift + drag, middle button', does: 'Move in time and along the tracks' },
  { keys: 'Alt + drag', does: 'Box select' },
  { keys: 'Click', does: 'Choose an event; its causes and effects are drawn as arrows to follow' },
  { keys: 'Double click', does: 'Zoom to the event' },
  { keys: 'Right click', does: 'Menu: marker, zoom, hide, pin, copy' },
]

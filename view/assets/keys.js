import {$, el, replace} from './dom.js';
import {recall, remember} from './theme.js';

// One table holds every key, what it does and what `?` says about it. Single letters can be switched off, for people
// whose speech input types them; keys that are not letters stay.

const keyTable = [
  ['w', 'zoom in at the pointer'], ['s', 'zoom out at the pointer'],
  ['a', 'pan left'], ['d', 'pan right'],
  ['ArrowUp', 'row above', '↑'], ['ArrowDown', 'row below', '↓'],
  ['ArrowLeft', 'previous call in the row', '←'], ['ArrowRight', 'next call in the row', '→'],
  ['W', 'taller rows', 'Shift+w'], ['S', 'lower rows', 'Shift+s'],
  ['f', 'fit the selection; again: its interval'],
  ['0', 'whole trace'], ['Backspace', 'previous view'],
  ['[', 'message partner: to the sender'], [']', 'message partner: to the receiver'],
  ['n', 'next worst wait'], ['p', 'previous worst wait'], ['c', 'from a wait a step to its origin'],
  ['/', 'search'], ['g', 'go to a time or record number'],
  ['m', 'mark the selected time'], ['M', 'mark with a note', 'Shift+m'],
  ['h', 'hide the selected row'], ['H', 'all rows, as recorded', 'Shift+h'],
  ['r', 'ruler: from here, again: to here'],
  ['1', 'tab by its place', '1 … 9'], ['t', 'table instead of the picture'],
  ['l', 'light, dark or the system’s theme'],
  ['Escape', 'clear selection and ruler', 'Esc'], ['?', 'this list'],
];

const mouse = [['drag', 'select a window'], ['click', 'select the call'], ['wheel', 'scroll rows'],
  ['Ctrl+wheel', 'zoom in time'], ['Shift+drag', 'pan'], ['double click', 'fit the call']];

export class Keys {
  constructor() {
    this.actions = new Map();
    this.letters = recall('coppice-letters', 'on') === 'on';
    document.addEventListener('keydown', (e) => this.press(e));
  }

  on(key, action) {
    this.actions.set(key, action);
  }

  press(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || document.querySelector('dialog[open]')) return;
    const t = e.target;
    const letter = e.key.length === 1;
    if (t instanceof HTMLInputElement && t.type === 'text' || t instanceof HTMLSelectElement && letter) return;
    if (letter && !this.letters && e.key !== '?') return;
    if (!letter && t !== $('timeline') && t !== document.body && e.key !== 'Escape' && e.key !== 'Backspace') return;
    const action = this.actions.get(e.key) || (/^[1-9]$/.test(e.key) ? this.actions.get('tab') : null);
    if (!action) return;
    e.preventDefault();
    action(e);
  }

  // help shows the table, and the switch for single letters.
  help() {
    const box = el('input', {type: 'checkbox', id: 'letters', onchange: (e) => {
      this.letters = e.target.checked;
      remember('coppice-letters', this.letters ? 'on' : 'off');
    }});
    box.checked = this.letters;
    const list = (rows) => el('div', {class: 'keys'}, ...rows.map(([key, what, shown]) =>
      el('div', {}, el('kbd', {}, shown || key), el('span', {}, what))));
    const d = $('help');
    replace(d, el('h2', {id: 'help-title'}, 'Keys'), list(keyTable), el('h3', {}, 'Mouse'), list(mouse),
      el('p', {}, el('label', {class: 'lock', for: 'letters'}, box, 'Single-letter keys')),
      el('p', {class: 'note'}, 'Colours are what the processes did, in shares of the time of a cell; the legend switches them. Cells are exact sums. ' +
        'Stripes are waits. Copy the address of this page to share what you see.'),
      el('button', {onclick: () => d.close(), autofocus: true}, 'Close'));
    d.showModal();
  }
}

import {$, el, replace} from './dom.js';

// One dialog asks for text: search, go to, note. The results are a list of buttons.

export function ask(title, label, hint, answer, live) {
  const d = $('ask');
  const input = el('input', {type: 'text', id: 'ask-text', 'aria-label': label, autocomplete: 'off', spellcheck: 'false'});
  const list = el('ul', {'aria-label': 'Found'});
  const note = el('p', {class: 'note', role: 'status'}, hint);
  const show = (text, items) => {
    note.textContent = text;
    replace(list, ...items);
  };
  const form = el('form', {}, input, el('button', {type: 'submit'}, 'OK'), el('button', {type: 'button', onclick: () => d.close()}, 'Close'));
  // A user who types fast and presses Enter means the current text: the list may still be that of its beginning.
  let timer = 0;
  let asked = {};
  const look = (text) => {
    clearTimeout(timer);
    if (asked.text === text) return asked.done;
    const mine = {text};
    asked = mine;
    mine.done = live(text, (found, items) => {
      if (asked === mine) show(found, items);
    });
    return mine.done;
  };
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    const text = input.value;
    if (live) await look(text);
    if (!form.isConnected || !d.open || input.value !== text) return;
    const first = live && list.querySelector('button');
    if (first) first.click();
    else if (await answer(text, show)) d.close();
  });
  if (live) {
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => look(input.value), 150);
    });
  }
  replace(d, el('h2', {id: 'ask-title'}, title), form, note, list);
  d.showModal();
  input.focus();
}

// hitButton is one result.
export function hitButton(kind, label, detail, action) {
  return el('li', {}, el('button', {type: 'button', onclick: () => {
    $('ask').close();
    action();
  }}, el('strong', {}, label), ` ${kind}${detail ? ', ' + detail : ''}`));
}

import {$, el, replace} from './dom.js';

// One dialog asks for text: search, go to, note. What is found is a list of buttons.

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
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    const first = list.querySelector('button');
    if (live && first) first.click();
    else if (await answer(input.value, show)) d.close();
  });
  if (live) {
    let timer = 0;
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => live(input.value, show), 150);
    });
  }
  replace(d, el('h2', {id: 'ask-title'}, title), form, note, list);
  d.showModal();
  input.focus();
}

// hitButton is one thing found.
export function hitButton(kind, label, detail, action) {
  return el('li', {}, el('button', {type: 'button', onclick: () => {
    $('ask').close();
    action();
  }}, el('strong', {}, label), ` ${kind}${detail ? ', ' + detail : ''}`));
}

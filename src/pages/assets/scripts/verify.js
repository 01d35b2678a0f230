/**
 * Puts the text of a chosen file into the form, so that the reader need not paste it.
 */
(() => {
  const MAX_BYTES = 20_000;
  const input = document.getElementById('file');
  const text = document.getElementById('certificate');
  if (!input || !text) return;
  input.closest('p').hidden = false;
  const fill = async ([file]) => {
    if (file) text.value = file.size > MAX_BYTES ? '' : await file.text();
  };
  input.addEventListener('change', () => void fill(input.files));
})();

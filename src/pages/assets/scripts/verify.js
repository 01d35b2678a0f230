/**
 * Puts a chosen file into the form's text, so that it need not be pasted.
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

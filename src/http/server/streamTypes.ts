/** The media types of answers that go on for as long as their client listens. */
export const STREAM_TYPES = /^(text\/event-stream|multipart\/mixed)/;

// The menu at the top: a button for the guided minute, for each story, and for the user's own capture.
import { $ } from "./dom";
import { placed } from "./placed";
import { STORIES, type Story } from "./stories";

/** Adds a button for each story; `tell` starts it. */
export function wireMenu(tell: (story: Story) => void) {
  const own = $("#own");
  for (const story of STORIES) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = story.title;
    button.dataset.story = story.id;
    button.addEventListener("click", () => tell(story));
    own.before(button, " ");
  }
  own.addEventListener("click", () => {
    const part = $<HTMLDetailsElement>("#capture");
    part.open = true;
    part.scrollIntoView({ block: "start" });
    $("#captures").focus({ preventScroll: true });
  });
}

/** Marks the story that is shown, and shows what to watch for; nothing for a scene of the user. */
export function showStory(story: Story | undefined) {
  for (const button of document.querySelectorAll<HTMLElement>("[data-story]")) {
    button.setAttribute("aria-current", String(button.dataset.story === story?.id));
  }
  $("#story-text").textContent = placed(story?.text ?? "");
}

// The guided minute of the lab on the first page: loaded only when a reader starts it, because the lab has megabytes.

const stage = document.querySelector(".minute .stage");
stage.querySelector("button").addEventListener("click", () => {
  const lab = document.createElement("iframe");
  lab.src = "lab/index.html";
  lab.title = "A guided minute: one lost packet, and its cure";
  lab.addEventListener("load", () => lab.focus());
  stage.replaceChildren(lab);
  stage.classList.add("plays");
});

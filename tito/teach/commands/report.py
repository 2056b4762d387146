"""`tito teach report NN [--no-similarity] [--jplag]`: one page about the class, out/report/ASSIGNMENT.html."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course

HELP = "write one offline page about the class: scores, mistakes, deviations, similarity"


def arguments(parser: ArgumentParser) -> None:
    """Which assignment, and what of it."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone")
    parser.add_argument("--no-similarity", action="store_true", help="compare no submissions")
    parser.add_argument("--jplag", action="store_true", help="also lay the submissions out for JPlag")


def run(args: Namespace, course: Course) -> int:
    """Write the report, and say what it is about."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    from tito.errors import NOT_YET, UserError
    from tito.teach.assignments import course_folder
    from tito.teach.folder import Folder
    from tito.teach.marks import late, policy
    from tito.teach.marks.store import Store
    from tito.teach.pages import jplag, pages, report, similarity

    folder, item = Folder.enter(), course_folder.item(course, args.assignment)
    name = course_folder.name_of(item)
    with Store(folder.results) as store:
        marks = late.marks(store, name, policy.load(folder, name))
        results = {mark.student: mark.result for mark in marks}
    if not results:
        raise UserError(f"{name} has no results; grade first: tito teach grade {args.assignment}", NOT_YET)
    students = [] if args.no_similarity else tqdm(results, disable=None, unit=" submissions")
    pairs, unread = similarity.compare(folder.submitted, item, name, students)
    page = report.page(results.values(), course, name, None if args.no_similarity else pairs, unread)
    path = pages.write(folder.out / "report" / f"{name}.html", page)
    compared = "" if args.no_similarity else f", {pages.count(len(pairs), 'pair')} alike"
    print(f"{path.relative_to(folder.root)}   {pages.count(len(results), 'submission')}{compared}")
    if args.jplag:
        many = jplag.export(folder.out / "jplag" / name, folder.submitted, item, name, results)
        print(f"out/jplag/{name}/   {pages.count(many, 'submission')}; compare them there with:")
        print(f"  {jplag.COMMAND}")
    return 0

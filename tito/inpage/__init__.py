"""What runs of the course in a reader's browser, under Pyodide, and as well in any Python.

How to read it: the page's script sends requests as JSON to door.py. page.py holds one open lesson: it runs cells in a
namespace like a notebook's (kernel.py) and checks exercises with the same machinery as `tito test`, in this process
instead of a child (here.py). saved.py knows the answers that a reader saved, earlier.py makes the package of the
earlier lessons from them, needs.py keeps that package ready for who has none. NumPy and the standard library only;
matplotlib is used when a cell has imported it.
"""

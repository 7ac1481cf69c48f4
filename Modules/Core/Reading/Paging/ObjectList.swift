/// The objects that a request found, as a collection that holds their identifiers and loads the objects by pages.
///
/// ```swift
/// let tracks = try context.list(FetchRequest(Track.self).sort(\.title), batchSize: 100)
/// let title = tracks[70_000].title
/// ```
/// Made by ``ManagedObjectContext/list(_:batchSize:)``. The identifiers are those of one moment, eight bytes for each
/// record as a rule: later inserts, edits and deletes never change the number of elements or their order. The objects
/// are those of the context, with their present values.
///
/// The number of elements never changes. An element shows the present state of its record:
/// - A record deleted in the meantime is an object whose ``ManagedObject/isDeleted`` is `true`. The accessors of an
///   object without values return defaults and report ``ErrorCode/recordVanished`` on the context.
/// - An inserted object that a rollback or a reset dropped is this object, which has no context any more.
/// - A saved record is the same element as before its save, with its permanent identifier.
/// - A record whose page cannot be read is an object whose ``ManagedObject/isUnavailable`` is `true`. The context reports
///   the error, and the next access reads the page again. ``objects(in:)`` throws the error.
///
/// Used inside the context, which the list retains. A copy shares the loaded pages.
///
/// Cost: the first access to an element of a page is one statement for each store with records of the page. A walk
/// forwards or backwards reads up to four pages at once. The list retains the objects of its last pages, at most eight;
/// it finds other objects without a read as long as the program retains them.
public struct ObjectList<Element: ManagedObject> {
  let pages: ObjectPages

  init(_ pages: ObjectPages) { self.pages = pages }

  /// The context of the objects.
  public var managedObjectContext: ManagedObjectContext { pages.context }

  /// The number of records of a page.
  public var batchSize: Int { pages.batchSize }

  /// The present identifier of the record at an index. Reads no store.
  ///
  /// - Precondition: The list has the index.
  public func objectID(at index: Int) -> ManagedObjectID {
    pages.objectID(at: index)
  }

  /// The index of a record; `nil` for a record outside of the list. Reads no store. The cost grows with the number of
  /// records, at some nanoseconds for each one.
  public func index(of id: ManagedObjectID) -> Int? {
    pages.index(of: id)
  }

  /// Returns the objects of a range of the list, for a program that knows its next elements.
  ///
  /// Cost: one statement for each store; a store may divide thousands of keys among a few statements. The list retains
  /// no more objects than those of some pages; the program retains the result.
  ///
  /// - Precondition: The list has the indexes.
  /// - Throws: ``ErrorCode/storeDetached``, ``ErrorCode/contextWithoutStore``, and errors of the store.
  public func objects(in range: Range<Int>) throws -> [Element] {
    try zip(range, pages.objects(in: range)).map { element($1, at: $0) }
  }

  /// An object as an element of the list.
  private func element(_ object: ManagedObject, at index: Int) -> Element {
    if let element = object as? Element { return element }
    // The key belongs to a record of another entity now.
    guard let element = pages.placeholder(at: index) as? Element else {
      Misuse.fail("A list of objects of '\(Element.self)' has a record of '\(object.entity.name)'.")
    }
    return element
  }
}

extension ObjectList: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { pages.count }

  /// The object at an index. Reads the page of the index, unless the object has values already.
  ///
  /// - Precondition: The list has the index.
  public subscript(position: Int) -> Element { element(pages.object(at: position), at: position) }
}

/// Finds and loads the objects of a list of identifiers, a page at a time. Used inside the context.
///
/// The context's registry is the index of the loaded objects: an object that the program retains is found without a
/// read.
final class ObjectPages {
  let context: ManagedObjectContext
  /// The number of records of a page, as the program asked for it.
  let batchSize: Int
  /// The number of records of a page: the batch size, or the number of all records if that is smaller.
  private let size: Int
  private let source: any IdentifierSource
  private let entities: [EntityDescription]
  private let prefetches: PrefetchPaths?
  private let recent: RecentObjects
  /// The objects of records without permanent identifiers, by their temporary identifiers. A saved object knows its
  /// permanent identifier, also after a reset of the context.
  private let unsaved: [ManagedObjectID: ManagedObject]
  /// The pages of the last read, and the number of reads in one direction before it.
  private var lastRead: (pages: Range<Int>, steps: Int) = (0..<0, 0)

  /// The greatest number of pages of one read.
  private static let greatestReadAhead = 4
  /// The number of records of a page for a list without a batch size.
  static let defaultSize = 256

  /// - Parameters:
  ///   - entities: The entities of the records.
  ///   - size: The number of records of a page.
  ///   - recent: The retained objects, which lists may share.
  init(
    _ source: some IdentifierSource, of entities: [EntityDescription], in context: ManagedObjectContext, size: Int,
    prefetching prefetches: PrefetchPaths? = nil, recent: RecentObjects? = nil,
    unsaved: [ManagedObjectID: ManagedObject] = [:]
  ) {
    self.source = source
    self.entities = entities
    self.context = context
    // No product of the size with a small number overflows.
    self.size = max(1, min(size, source.count))
    batchSize = size
    self.prefetches = prefetches
    self.recent = recent ?? RecentObjects(limit: Self.retainedCount(ofPagesOf: self.size))
    self.unsaved = unsaved
  }

  /// The number of objects of the greatest read ahead.
  ///
  /// - Parameter size: The number of records of a page.
  static func retainedCount(ofPagesOf size: Int) -> Int {
    let (count, isBeyond) = size.multipliedReportingOverflow(by: greatestReadAhead)
    return isBeyond ? .max : count
  }

  var count: Int { source.count }

  /// The present identifier of the record at an index.
  func objectID(at index: Int) -> ManagedObjectID {
    checkUse()
    return id(at: index)
  }

  /// Ends the process if the calling thread may not use the context.
  private func checkUse() { context.storage.confinement.check("A list of the \(context.label)") }

  /// The present identifier of the record at an index.
  private func id(at index: Int) -> ManagedObjectID {
    Misuse.check(
      index >= 0 && index < source.count,
      "The list has no record at the index \(index); the number of its records is \(source.count), and the first index is zero."
    )
    let id = source.id(at: index)
    // The context forgets at a reset that the record was saved; the object does not.
    if id.isTemporaryID, let object = unsaved[id] { return context.current(object.recordID) }
    return context.current(id)
  }

  /// The index of a record; `nil` for a record outside of the list. The cost grows with the number of records.
  func index(of id: ManagedObjectID) -> Int? {
    checkUse()
    if let index = source.index(of: id) { return index }
    let present = context.current(id)
    if present != id, let index = source.index(of: present) { return index }
    // The list may have the temporary identifier of the saved record.
    guard let former = unsaved.first(where: { $1.recordID == present })?.key else { return nil }
    return source.index(of: former)
  }

  // MARK: Objects

  /// The object at an index. Reads the page of the index, unless the object has values. A failure to read is reported on
  /// the context, and the object is unavailable.
  func object(at index: Int) -> ManagedObject {
    checkUse()
    let id = id(at: index)
    if let object = present(id) { return object }
    do {
      let loaded = try context.loading { try load(pages(for: index), for: id) }
      return withExtendedLifetime(loaded) { present(id) ?? placeholder(for: id) }
    } catch {
      let object = placeholder(for: id, isDeleted: false)
      context.report(error, for: object, losesChange: false)
      return object
    }
  }

  /// A placeholder for an element whose object has another class than those of the list's entities.
  func placeholder(at index: Int) -> ManagedObject { placeholder(for: id(at: index)) }

  /// The objects of a range of indexes, those without values loaded by one read.
  ///
  /// - Throws: Errors of the read.
  func objects(in range: Range<Int>) throws -> [ManagedObject] {
    checkUse()
    let loaded = try context.loading { try load(range) }
    return withExtendedLifetime(loaded) {
      range.map { index in
        let id = id(at: index)
        return present(id) ?? placeholder(for: id)
      }
    }
  }

  /// The object of a record that needs no read.
  private func present(_ id: ManagedObjectID) -> ManagedObject? {
    if let object = context.storage.registry.object(for: id), object.isLoaded {
      return object
    }
    return recent.missing(id, in: context.unitOfFaults)
  }

  /// Reads the records without loaded objects in a range.
  ///
  /// - Parameter id: The only record that is needed, for which other records of detached stores are left out; `nil` if
  ///   all records are needed.
  /// - Returns: The objects of the range.
  private func load(_ range: Range<Int>, for id: ManagedObjectID? = nil) throws -> [ManagedObject] {
    var ids = range.map { self.id(at: $0) }
    if let id {
      let readableIDs = context.readable(ids) { $0 }
      ids = readableIDs.contains(id) ? readableIDs : [id]
    }
    let registered = context.storage.registry.objects(for: ids)
    let wanted = zip(ids, registered).compactMap { id, object in
      object?.isLoaded == true ? nil : id
    }
    guard !wanted.isEmpty else { return registered.compactMap(\.self) }
    var fresh: [ManagedObject] = []
    context.objects(for: try context.loadRows(wanted), into: &fresh)
    let objects = zip(ids, context.storage.registry.objects(for: ids)).compactMap { id, object in
      object?.isLoaded == true ? object : nil
    }
    context.group(objects)
    if let prefetches { try context.prefetch(prefetches, of: objects) }
    recent.keep(objects)
    if objects.count < ids.count { noteMissing(ids) }
    return withExtendedLifetime(fresh) { objects }
  }

  /// Keeps placeholders of records that a read did not find, so that the next access to them reads nothing. A fault of
  /// such a record stays in the context until its own access finds no record.
  private func noteMissing(_ ids: [ManagedObjectID]) {
    for (id, object) in zip(ids, context.storage.registry.objects(for: ids)) where object?.isLoaded != true {
      recent.keep(missing: placeholder(for: id), for: id, in: context.unitOfFaults)
    }
  }

  /// A new object for a missing record, or for a record of a page after a failed read. The object belongs to no
  /// context, and its accessors return defaults.
  ///
  /// - Parameter isDeleted: Whether the record does not exist any more.
  private func placeholder(for id: ManagedObjectID, isDeleted: Bool = true) -> ManagedObject {
    if id.isTemporaryID, let object = unsaved[id] { return object }
    let entity = entities.first { $0.root === id.entity } ?? entities.first ?? id.entity
    let object = entity.objectClass.init(ObjectBirth(entity: entity, id: id, storage: context.storage))
    object.flags.formUnion(isDeleted ? [.detached, .deleted] : [.detached, .unavailable])
    return object
  }

  // MARK: Reading ahead

  /// The indexes to read for an index without an object: its page, and more pages in the direction of a walk.
  private func pages(for index: Int) -> Range<Int> {
    let page = index / size
    let isForward = page == lastRead.pages.upperBound
    let isBackward = page == lastRead.pages.lowerBound - 1
    let steps = (isForward || isBackward) && !lastRead.pages.isEmpty ? lastRead.steps + 1 : 0
    // The second page in a row may be the end of a short walk.
    let wanted = steps < 2 ? 1 : min(1 << (steps - 1), Self.greatestReadAhead)
    let end = (source.count - 1) / size + 1
    let pages =
      isBackward && !isForward ? max(0, page + 1 - wanted)..<(page + 1) : page..<min(page + wanted, end)
    lastRead = (pages, min(steps, 8))
    return (pages.lowerBound * size)..<min(pages.upperBound * size, source.count)
  }
}

/// The values of one property of an object, as ``ManagedObjectContext/values(of:_:)`` returns them.
///
/// Each iterator reads the object at the first call of `next()`, and delivers the present value first. The iterator
/// retains neither the context nor the object. Several tasks need an iterator each.
public struct ObjectValues<Object: ManagedObject, Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// A value of the property.
  public typealias Element = Value
  let source: LiveSource
  let keyPath: any KeyPath<Object, Value> & Sendable

  /// Makes an iterator. It reads the object at the first call of `next()`.
  public func makeAsyncIterator() -> Iterator {
    Iterator(reader: LiveReader(source), handle: source.handle, keyPath: keyPath)
  }

  /// Used by one task at a time.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let reader: LiveReader
    let handle: ContextHandle
    let keyPath: any KeyPath<Object, Value> & Sendable
    private var last: Value?

    init(reader: LiveReader, handle: ContextHandle, keyPath: any KeyPath<Object, Value> & Sendable) {
      self.reader = reader
      self.handle = handle
      self.keyPath = keyPath
    }

    /// Waits for a value that differs from the last value. `nil` after the deletion of the record, after the end, and
    /// in a cancelled task.
    public mutating func next() async throws -> Value? {
      while let state = try await reader.next()?.current {
        guard let id = state.visibleEntries.first?.id, let context = handle.context else { return nil }
        let keyPath = keyPath
        let value: Value?
        do {
          value = try await context.perform { context in
            try context.objects(for: [id], as: Object.self).first.map { $0[keyPath: keyPath] }
          }
        } catch  where error.isCancellationOfTask {
          return nil
        }
        guard let value else { return nil }
        guard value != last else { continue }
        last = value
        return value
      }
      return nil
    }
  }
}

extension ManagedObjectContext {
  /// Returns the values of a property of an object: the present value, and each later value that differs from its
  /// predecessor.
  ///
  /// ```swift
  /// for try await title in try context.values(of: track, \.title) { show(title) }
  /// ```
  /// The property shows edits of the context, merged saves of other contexts, refreshes, rollbacks and resets. A slow
  /// reader misses intermediate values: the next element is the newest value. The key path may lead over relationships,
  /// but only changes of the object itself make elements.
  ///
  /// Called inside the context. The sequence ends with the record's deletion, with the context, and with its task.
  /// Cost: a change of the object costs one turn of the context; other changes cost nothing.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``; ``ErrorCode/wrongContext`` for a context that
  ///   belongs to a thread.
  public final func values<Object: ManagedObject, Value: Sendable & Equatable>(
    of object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable
  ) throws -> ObjectValues<Object, Value> {
    ObjectValues(source: try liveSource(.record(of: object), nil, false), keyPath: keyPath)
  }
}

extension FetchRequest<ManagedObject> {
  /// The request for the record of an object.
  static func record(of object: ManagedObject) -> FetchRequest {
    FetchRequest(entityName: object.entity.name).filter(
      .comparison(.path(.own), .equal, .value(.reference(object.objectID))))
  }
}

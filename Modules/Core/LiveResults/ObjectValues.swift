/// The values of one property of an object, as ``ManagedObjectContext/values(of:_:)`` returns them.
public struct ObjectValues<Object: ManagedObject, Value: Sendable & Equatable>: AsyncSequence, Sendable {
  public typealias Element = Value
  let source: LiveSource
  let keyPath: any KeyPath<Object, Value> & Sendable

  public func makeAsyncIterator() -> Iterator {
    Iterator(reader: LiveReader(source), handle: source.handle, keyPath: keyPath)
  }

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

    /// Waits for a value that differs from the last one. `nil` after the record was deleted, and after the end.
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
  /// The values of a property of an object: the present one, and each later one that differs from the value before.
  ///
  /// ```swift
  /// for try await title in try context.values(of: track, \.title) { show(title) }
  /// ```
  /// The property shows edits of the context, merged saves of other contexts, refreshes, rollbacks and resets. While
  /// nobody waits, the newest value replaces earlier ones. The key path may lead over relationships; changes of the object
  /// itself are followed, and no changes of other objects.
  ///
  /// To be called inside the context. The sequence ends when the record is deleted, with the context, and with its task.
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

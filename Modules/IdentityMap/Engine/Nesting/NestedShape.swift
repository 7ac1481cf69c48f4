/// The arrangement of entities in a part of an aggregate: one, an optional one, several, or wrapped. Shapes are
/// composed: an optional collection of entities is an optional of a collection of an entity.
///
/// A shape consists of closures, not of overridden methods, because closures are specialized for the types at their
/// creation. The closures use the nodes and tables of entities, which in turn use shapes: a layer between the two would
/// cost an existential call for each nested entity.
@usableFromInline
final class NestedShape<Part> {
  /// The number of entities, if it is the same for every part.
  @usableFromInline let fixedCount: Int?
  /// Passes each entity of the part to a collector, in the order of the part.
  @usableFromInline let collect: (Part, inout ChildCollector) -> Void
  /// The number of entities in the part.
  @usableFromInline let count: (Part) -> Int
  /// Writes the changed values of the linked entities.
  @usableFromInline let writeChildren: (inout Part, inout LinkCursor) -> Void
  /// The same for a part at an address.
  @usableFromInline let writeChildrenAtAddress: (UnsafeMutableRawPointer, inout LinkCursor) -> Void
  /// Removes the cursor's removed entities; returns whether the part itself has to be removed, because it requires one
  /// of them.
  @usableFromInline let remove: (inout Part, inout LinkCursor) -> Bool
  /// Whether two parts are known to be identical by their bytes and those of their elements.
  @usableFromInline let isRepetition: (Part, Part) -> Bool

  @inlinable init(
    fixedCount: Int? = nil, collect: @escaping (Part, inout ChildCollector) -> Void, count: @escaping (Part) -> Int,
    writeChildren: @escaping (inout Part, inout LinkCursor) -> Void,
    remove: @escaping (inout Part, inout LinkCursor) -> Bool,
    isRepetition: @escaping (Part, Part) -> Bool = { haveSameBytes($0, $1) }
  ) {
    self.isRepetition = isRepetition
    self.fixedCount = fixedCount
    self.collect = collect
    self.count = count
    self.writeChildren = writeChildren
    // Safety of `assumingMemoryBound`: the address is that of an initialised part.
    writeChildrenAtAddress = { writeChildren(&$0.assumingMemoryBound(to: Part.self).pointee, &$1) }
    self.remove = remove
  }
}

extension NestedShape where Part: Identifiable & Sendable {
  /// One entity.
  @inlinable static func entity() -> NestedShape {
    NestedShape(
      fixedCount: 1,
      collect: { part, collector in collector.collect(part) },
      count: { _ in 1 },
      writeChildren: { part, cursor in
        guard let child = cursor.nextToWrite(of: EntityNode<Part>.self) else { return }
        cursor.releaseLater(child._withUnsafeGuaranteedRef { $0.write(to: &part) })
      },
      remove: { _, cursor in cursor.nextIsRemoved() })
  }
}

extension NestedShape {
  /// An optional part.
  @inlinable static func optional<Wrapped>(_ shape: NestedShape<Wrapped>) -> NestedShape where Part == Wrapped? {
    NestedShape(
      collect: { part, collector in if let part { shape.collect(part, &collector) } },
      count: { part in part.map(shape.count) ?? 0 },
      writeChildren: { part, cursor in
        guard var wrapped = part else { return }
        // The value has one owner during the walk, so that collections are changed in place.
        part = nil
        shape.writeChildren(&wrapped, &cursor)
        part = wrapped
      },
      remove: { part, cursor in
        guard var wrapped = part else { return false }
        part = shape.remove(&wrapped, &cursor) ? nil : wrapped
        return false
      },
      isRepetition: { part, former in
        guard let part, let former else { return part == nil && former == nil }
        return shape.isRepetition(part, former)
      })
  }
}

extension NestedShape where Part: EntityWrapper {
  /// A wrapper, whose own key paths lead to its entities.
  @usableFromInline static func wrapper() -> NestedShape {
    NestedShape(
      collect: { part, collector in
        // A wrapper may contain other wrappers.
        StackSpace.forLevel { for accessor in accessors(of: part) { accessor.collect(part, &collector) } }
      },
      count: { part in count(in: part) },
      writeChildren: { part, cursor in
        StackSpace.forLevel { for accessor in accessors(of: part) { accessor.writeChildren(&part, &cursor) } }
      },
      remove: { part, cursor in
        StackSpace.forLevel {
          let count = count(in: part)
          // A wrapper that requires a removed entity, or that changes to another case, is not walked to its end.
          let end = cursor.position + count
          defer { cursor.position = end }
          let removedCount = cursor.countOfRemoved(count)
          let formerKeptCount = cursor.keptCount
          for accessor in accessors(of: part) where accessor.remove(&part, &cursor) { return true }
          // The wrapper should have lost the removed entities, except for those that a policy keeps. If the setter of
          // an enum case has ignored `nil`, the wrapper still has more: then the whole wrapper is removed.
          let keptCount = cursor.keptCount - formerKeptCount
          return self.count(in: part) != count - removedCount + keptCount
        }
      })
  }

  private static func count(in part: Part) -> Int {
    StackSpace.forLevel { accessors(of: part).reduce(0) { $0 + $1.count(part) } }
  }

  private static func accessors(of part: Part) -> [NestedAccessor<Part>] {
    part.wrappedEntitiesKeyPaths(relativeTo: \Part.self).map { $0.makeAccessor() }
  }
}

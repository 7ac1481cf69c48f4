extension NestedShape where Part: MutableCollection {
  /// A collection of values of one shape, in the order of the collection.
  @inlinable static func collection(_ shape: NestedShape<Part.Element>) -> NestedShape {
    NestedShape(
      collect: { part, collector in
        for element in part { shape.collect(element, &collector) }
      },
      count: { part in
        if let each = shape.fixedCount { return part.count * each }
        return part.reduce(0) { $0 + shape.count($1) }
      },
      writeChildren: { part, cursor in
        var index = part.startIndex
        while index != part.endIndex {
          let count = shape.fixedCount ?? shape.count(part[index])
          if cursor.needsWriting(count) { shape.writeChildren(&part[index], &cursor) } else { cursor.skip(count) }
          part.formIndex(after: &index)
        }
      },
      remove: { part, cursor in
        var remaining: [Part.Element] = []
        for element in part {
          var element = element
          if !shape.remove(&element, &cursor) { remaining.append(element) }
        }
        if remaining.count == part.count {
          // Elements may have lost entities of their own. They are replaced in place, because not every collection can
          // be made of elements.
          for (index, element) in zip(part.indices, remaining) { part[index] = element }
          return false
        }
        guard let rebuilt = Part.made(of: remaining) else { return true }
        part = rebuilt
        return false
      },
      isRepetition: { part, former in
        if haveSameBytes(part, former) { return true }
        // Other collections may have state beside their elements.
        guard Part.self == Array<Part.Element>.self, part.count == former.count else { return false }
        return zip(part, former).allSatisfy { shape.isRepetition($0.0, $0.1) }
      })
  }
}

extension NestedShape {
  /// A set of entities. Its order depends on its elements, so they are found by their identifiers. Of several versions
  /// of one entity in the set, one counts. A member whose new value equals another member keeps its former value in the
  /// set, until the values differ again.
  @inlinable static func set<T: Identifiable & Sendable & Hashable>() -> NestedShape where Part == Set<T> {
    NestedShape(
      collect: { part, collector in
        let elements = distinct(part)
        for element in elements { collector.collect(element) }
        if elements.count < part.count { collector.markOutdated(last: elements.count) }
      },
      count: { part in distinct(part).count },
      writeChildren: { part, cursor in
        var changed: [T.ID: T] = [:]
        var indices: [T.ID: Int] = [:]
        for _ in 0..<distinct(part).count {
          let index = cursor.position
          guard let child = cursor.nextToWrite(of: EntityNode<T>.self) else { continue }
          let value = child._withUnsafeGuaranteedRef { $0.value }
          changed[value.id] = value
          indices[value.id] = index
        }
        let former = part
        let written = replacing(former, by: changed)
        part = written.set
        for id in written.kept { if let index = indices[id] { cursor.markOutdated(index) } }
        cursor.releaseLater(former)
      },
      remove: { part, cursor in
        var removed: Set<T.ID> = []
        for _ in 0..<distinct(part).count {
          // The node of a link has another type after a setter has changed the entities before the set.
          guard let child = cursor.nextRemoved() as? EntityNode<T> else { continue }
          removed.insert(child.value.id)
        }
        part = part.filter { !removed.contains($0.id) }
        return false
      })
  }

  /// Returns a set with other values of its members. A value that equals another member is left out, because a set
  /// cannot have both, and each link of the set needs its member: the member keeps its former value.
  ///
  /// - Returns: The set, and the identifiers of the members that keep their former values.
  @inlinable static func replacing<T: Identifiable & Hashable>(
    _ part: Set<T>, by values: [T.ID: T]
  ) -> (set: Set<T>, kept: [T.ID]) {
    var values = values
    var kept: [T.ID] = []
    while true {
      var result = part.filter { values[$0.id] == nil }
      var equal: T.ID?
      for element in part {
        guard let value = values[element.id] else { continue }
        let (isInserted, member) = result.insert(value)
        if isInserted || member.id == value.id { continue }
        equal = value.id
        break
      }
      guard let equal else { return (result, kept) }
      values[equal] = nil
      kept.append(equal)
    }
  }

  /// One element for each identifier.
  @inlinable static func distinct<T: Identifiable & Hashable>(_ part: Set<T>) -> [T] {
    var seen: Set<T.ID> = []
    return part.filter { seen.insert($0.id).inserted }.map { $0 }
  }
}

extension NestedShape {
  /// A dictionary with values of one shape. A removed value is removed with its key.
  @inlinable static func dictionary<Key: Hashable, Value>(_ shape: NestedShape<Value>) -> NestedShape
  where Part == [Key: Value] {
    NestedShape(
      collect: { part, collector in
        for value in part.values { shape.collect(value, &collector) }
      },
      count: { part in
        if let each = shape.fixedCount { return part.count * each }
        return part.values.reduce(0) { $0 + shape.count($1) }
      },
      writeChildren: { part, cursor in
        var index = part.values.startIndex
        while index != part.values.endIndex {
          let count = shape.fixedCount ?? shape.count(part.values[index])
          if cursor.needsWriting(count) {
            shape.writeChildren(&part.values[index], &cursor)
          } else {
            cursor.skip(count)
          }
          part.values.formIndex(after: &index)
        }
      },
      remove: { part, cursor in
        var reduced = part
        for (key, value) in part {
          var value = value
          reduced[key] = shape.remove(&value, &cursor) ? nil : value
        }
        part = reduced
        return false
      })
  }
}

extension NestedShape where Part: Collection, Part.Element: Identifiable & Sendable {
  /// A collection of entities of any kind, as an alias can have. It is made from the values of its entities.
  static func list() -> NestedShape {
    NestedShape(
      collect: { part, collector in
        for element in part { collector.collect(element) }
      },
      count: { part in part.count },
      writeChildren: { part, cursor in
        let former = part
        part = Part.made(of: values(of: cursor.links.map(\.child))) ?? former
        cursor.releaseLater(former)
      },
      remove: { part, cursor in
        let remaining = cursor.links.indices.compactMap { _ in cursor.nextUnlessRemoved() }
        guard let rebuilt = Part.made(of: values(of: remaining)) else { return true }
        part = rebuilt
        return false
      })
  }

  private static func values(of nodes: [Node]) -> [Part.Element] {
    nodes.map { unsafeDowncast($0, to: EntityNode<Part.Element>.self).value }
  }
}

extension Collection {
  /// A collection of this type with other elements; `nil` when the type cannot be made from elements.
  @usableFromInline static func made(of elements: [Element]) -> Self? {
    if let array = elements as? Self { return array }
    if let type = Self.self as? any RangeReplaceableCollection.Type { return make(type, of: elements) as? Self }
    if let type = Self.self as? any SetAlgebra.Type { return make(set: type, of: elements) as? Self }
    return nil
  }

  private static func make<S: SetAlgebra>(set type: S.Type, of elements: [Element]) -> Any? {
    (elements as? [S.Element]).map { S($0) }
  }

  private static func make<R: RangeReplaceableCollection>(_ type: R.Type, of elements: [Element]) -> Any? {
    (elements as? [R.Element]).map { R($0) }
  }
}

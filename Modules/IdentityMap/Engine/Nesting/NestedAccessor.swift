/// Reads and writes the nested entities at one key path of an aggregate.
///
/// The entities at a key path are visited in a fixed order, and the links of the node have the same order, so that a
/// cursor moves over the links in step with every walk over the value.
///
/// Composed of closures for the same reason as a ``NestedShape``.
@usableFromInline
final class NestedAccessor<Root> {
  // Safety of `assumingMemoryBound`: an address is that of an initialised value, and the offset of a stored property,
  // which `MemoryLayout.offset(of:)` returns, leads to the property in every value. The offset is `nil` for any other
  // property, which is then read and written by its key path.
  /// Passes each entity at the key path to a collector.
  @usableFromInline let collect: (Root, inout ChildCollector) -> Void
  /// The number of entities at the key path.
  @usableFromInline let count: (Root) -> Int
  /// Writes the changed values of the linked entities.
  @usableFromInline let writeChildren: (inout Root, inout LinkCursor) -> Void
  /// The same for a value at an address.
  @usableFromInline let writeChildrenAtAddress: (UnsafeMutableRawPointer, inout LinkCursor) -> Void
  /// Removes the cursor's removed entities; returns whether the key path requires one of them, so that the aggregate
  /// has to be removed too.
  @usableFromInline let remove: (inout Root, inout LinkCursor) -> Bool
  /// The memory of the key path in a value; `nil` when a setter writes it.
  @usableFromInline let stored: StoredPropertyLayout?

  @inlinable init(
    collect: @escaping (Root, inout ChildCollector) -> Void, count: @escaping (Root) -> Int,
    writeChildren: @escaping (inout Root, inout LinkCursor) -> Void,
    remove: @escaping (inout Root, inout LinkCursor) -> Bool,
    writeChildrenAtAddress: ((UnsafeMutableRawPointer, inout LinkCursor) -> Void)? = nil,
    stored: StoredPropertyLayout? = nil
  ) {
    self.stored = stored
    self.collect = collect
    self.count = count
    self.writeChildren = writeChildren
    self.writeChildrenAtAddress =
      writeChildrenAtAddress ?? { writeChildren(&$0.assumingMemoryBound(to: Root.self).pointee, &$1) }
    self.remove = remove
  }

  /// Returns the same accessor with a policy for removals. By any policy but `cascade`, the aggregate keeps the removed
  /// entities at the key path, and the cursor counts them for the ``RemovalEffect``.
  func removing(by policy: RemovalPolicy) -> NestedAccessor {
    // The closures of the shapes remove by this policy.
    guard policy != .cascade else { return self }
    let count = count
    return NestedAccessor(
      collect: collect, count: count, writeChildren: writeChildren,
      remove: { root, cursor in
        cursor.keep(count(root), isRefusing: policy == .refuse)
        return false
      }, writeChildrenAtAddress: writeChildrenAtAddress, stored: stored)
  }

  /// Returns the accessor of the part at a key path.
  ///
  /// - Parameter shape: The arrangement of the entities in the part.
  @inlinable static func part<Part>(_ keyPath: WritableKeyPath<Root, Part>, _ shape: NestedShape<Part>)
    -> NestedAccessor
  {
    // Reads and writes at the offset of a stored property, because a key path takes ten times as long.
    guard let offset = MemoryLayout<Root>.offset(of: keyPath) else { return computed(keyPath, shape) }
    func read(_ root: Root) -> Part {
      withUnsafePointer(to: root) {
        UnsafeRawPointer($0).advanced(by: offset).assumingMemoryBound(to: Part.self).pointee
      }
    }
    func write<R>(_ root: inout Root, _ body: (inout Part) -> R) -> R {
      withUnsafeMutablePointer(to: &root) {
        body(&UnsafeMutableRawPointer($0).advanced(by: offset).assumingMemoryBound(to: Part.self).pointee)
      }
    }
    return NestedAccessor(
      collect: { root, collector in shape.collect(read(root), &collector) },
      count: { root in shape.fixedCount ?? shape.count(read(root)) },
      writeChildren: { root, cursor in
        let count = shape.fixedCount ?? shape.count(read(root))
        guard cursor.needsWriting(count) else { return cursor.skip(count) }
        write(&root) { shape.writeChildren(&$0, &cursor) }
      },
      remove: { root, cursor in
        let count = shape.fixedCount ?? shape.count(read(root))
        guard cursor.containsRemoved(count) else {
          cursor.skip(count)
          return false
        }
        return write(&root) { shape.remove(&$0, &cursor) }
      }, writeChildrenAtAddress: childWriter(at: offset, shape), stored: StoredPropertyLayout(at: offset, shape))
  }

  /// Returns the closure that writes the changed children into the part at an offset of a value.
  @inlinable static func childWriter<Part>(at offset: Int, _ shape: NestedShape<Part>)
    -> (UnsafeMutableRawPointer, inout LinkCursor) -> Void
  {
    let writeChildren = shape.writeChildrenAtAddress
    // A single entity checks by itself whether it has to be written.
    if shape.fixedCount == 1 { return { root, cursor in writeChildren(root + offset, &cursor) } }
    return { root, cursor in
      let part = root + offset
      let count = shape.count(part.assumingMemoryBound(to: Part.self).pointee)
      if cursor.needsWriting(count) { writeChildren(part, &cursor) } else { cursor.skip(count) }
    }
  }

  /// Returns the accessor of a part without an offset, which the getter and the setter of the key path read and write.
  @usableFromInline static func computed<Part>(_ keyPath: WritableKeyPath<Root, Part>, _ shape: NestedShape<Part>)
    -> NestedAccessor
  {
    NestedAccessor(
      collect: { root, collector in shape.collect(root[keyPath: keyPath], &collector) },
      count: { root in shape.count(root[keyPath: keyPath]) },
      writeChildren: { root, cursor in
        let count = shape.count(root[keyPath: keyPath])
        guard cursor.needsWriting(count) else { return cursor.skip(count) }
        shape.writeChildren(&root[keyPath: keyPath], &cursor)
      },
      remove: { root, cursor in
        let count = shape.count(root[keyPath: keyPath])
        guard cursor.containsRemoved(count) else {
          cursor.skip(count)
          return false
        }
        return shape.remove(&root[keyPath: keyPath], &cursor)
      })
  }
}

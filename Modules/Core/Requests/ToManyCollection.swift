/// The collections that typed accessors return for a to-many relationship: ``ToMany`` and ``OrderedToMany``.
public protocol ToManyCollection {
  associatedtype Element: ManagedObject
}

extension OrderedToMany: ToManyCollection {}
extension ToMany: ToManyCollection {}

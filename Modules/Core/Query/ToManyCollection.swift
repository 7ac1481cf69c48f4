/// What typed accessors answer for a to-many relationship: ``ToMany`` and ``OrderedToMany``.
public protocol ToManyCollection {
  associatedtype Element: ManagedObject
}

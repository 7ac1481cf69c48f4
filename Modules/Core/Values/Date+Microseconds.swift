public import Foundation

extension Date {
  /// Returns the date rounded to the nearest microsecond, the precision of all stores.
  ///
  /// A `Date` has fractions of microseconds, which no store keeps. An attribute rounds a date when it is assigned, so
  /// the object has the rounded date at once. A structure keeps its unrounded date and so differs from the structure
  /// that is fetched. Make the structure with a rounded date, and the two are equal:
  ///
  /// ```swift
  /// let note = Note(id: 1, written: Date.now.roundedToMicroseconds())
  /// try manager.save(notes, models: [note], shouldOverwrite: false)
  /// try manager.fetchModel(notes, uid: 1) == note  // true
  /// ```
  ///
  /// A rounded date is returned unchanged, and so is a date more than 292,000 years from 1970, which no store keeps.
  /// Predicates round their dates likewise, so that a search for the unrounded date finds the record.
  public func roundedToMicroseconds() -> Date { Timestamp(self)?.date ?? self }
}

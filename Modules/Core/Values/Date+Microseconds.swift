public import Foundation

extension Date {
  /// Returns the date rounded to the nearest microsecond, the precision of all stores.
  ///
  /// A `Date` has fractions of microseconds, which stores do not keep. An attribute rounds an assigned date, so that
  /// the object has the rounded date at once. A structure keeps its unrounded date, and therefore differs from the
  /// fetched structure. With a rounded date the two structures are equal:
  ///
  /// ```swift
  /// let note = Note(id: 1, written: Date.now.roundedToMicroseconds())
  /// try manager.save(notes, models: [note], shouldOverwrite: false)
  /// try manager.fetchModel(notes, uid: 1) == note  // true
  /// ```
  ///
  /// The function returns a rounded date unchanged, and also a date about 291,500 years or more from 1970, which stores
  /// do not keep. Predicates round their dates likewise, so that a search for the unrounded date finds the record.
  public func roundedToMicroseconds() -> Date { Timestamp(self)?.date ?? self }
}

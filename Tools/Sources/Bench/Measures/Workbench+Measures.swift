extension Workbench {
  /// Every measure that this machine supports, in the order of the report.
  func measures() -> [Measure] {
    var all = [
      fetchMeasure(), pagedMeasure(), groupMeasure(), residualMeasure(), residualPathMeasure(), snapshotMeasure(),
      streamMeasure(), streamMemoryMeasure(),
      insertMeasure(),
      faultMeasure(), lookupMeasure(),
      updateMeasure(),
      smallSaveMeasure(),
      undoMeasure(), freshnessMeasure(), liveResultMeasure(), memoryMeasure(), mergeMeasure(), idleMergeMeasure(),
      pendingMergeMeasure(),
      mergeMemoryMeasure(), actionMeasure(), actionMemoryMeasure(), persistedActionMeasure(),
      persistedActionLatencyMeasure(), mappingFetchMeasure(), mappingDecodeMeasure(), mappingSaveMeasure(),
      idleMappingSaveMeasure(), mappingRecordSaveMeasure(), walkMeasure(), toOneMeasure(),
      accessorMeasure(), toManyMeasure(), declaredReadMeasure(), declaredWriteMeasure(), modelFileMeasure(),
      smallUnitsMeasure(), sqliteSmallUnitsMeasure(), memberCountMeasure(), batchInsertMeasure(), upsertMeasure(),
      cascadeMeasure(), orderedMoveMeasure(),
    ]
    if let postgreSQL {
      all += [
        postgreSQLFetchMeasure(postgreSQL), groupMeasure(postgreSQL), streamMeasure(postgreSQL),
        postgreSQLInsertMeasure(postgreSQL),
        mergeMeasure(postgreSQL),
        idleMergeMeasure(postgreSQL), mappingFetchMeasure(postgreSQL), mappingSaveMeasure(postgreSQL),
        walkMeasure(postgreSQL), smallUnitsMeasure(postgreSQL), persistedActionMeasure(postgreSQL),
        persistedActionLatencyMeasure(postgreSQL),
      ]
    }
    all += OutboxBench(self).measures()
    all += IdentityMapBench().measures()
    return all
  }
}
